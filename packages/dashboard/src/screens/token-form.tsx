import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Field } from "../parts/field.tsx";

/** What is shown in place of everything while the server asks for its token. */
export function TokenForm(): JSX.Element {
  const [token, setToken] = useState("");
  const [refused] = useState(location.search.includes("token="));
  useEffect(() => {
    document.querySelector("input")?.focus();
    // The address must not keep a token, not even a wrong one.
    if (refused) history.replaceState(undefined, "", `/${location.hash}`);
  }, []);
  const submit = (): void =>
    // The server takes it from this address alone, keeps it in a cookie, and redirects to one without it.
    location.assign(`/?token=${encodeURIComponent(token.trim())}${location.hash}`);
  return (
    <main class="token-screen">
      <form class="card" onSubmit={submit}>
        <h1>Countersign</h1>
        <p>This server requires its token: the value of --token.</p>
        <Field
          label="Token"
          type="password"
          autocomplete="current-password"
          required
          value={token}
          onInput={setToken}
          error={
            refused
              ? "The server did not accept that token."
              : navigator.cookieEnabled
                ? ""
                : "Cookies are blocked. Allow them here: one keeps the token."
          }
        />
        <button type="submit" class="primary">
          Open
        </button>
      </form>
    </main>
  );
}
