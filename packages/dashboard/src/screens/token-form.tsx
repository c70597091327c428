import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** What is shown in place of everything while the server asks for its token. */
export function TokenForm(): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const [refused] = useState(() => new URLSearchParams(location.search).has("token"));
  useEffect(() => {
    input.current?.focus();
    // The address must not keep a token, not even a wrong one.
    if (refused) history.replaceState(undefined, "", `/${location.hash}`);
  }, []);
  const submit = (): void => {
    const token = input.current?.value.trim() ?? "";
    // The server takes it from this address alone, keeps it in a cookie, and redirects to one without it.
    if (token !== "") location.assign(`/?token=${encodeURIComponent(token)}${location.hash}`);
  };
  return (
    <main class="token-screen">
      <form class="card" onSubmit={submit}>
        <h1>Countersign</h1>
        <p>This server requires its token: the value of --token.</p>
        <label>
          Token
          <input
            ref={input}
            type="password"
            autocomplete="current-password"
            aria-invalid={refused}
            aria-describedby={refused ? "token-error" : undefined}
            required
          />
        </label>
        {refused && (
          <p id="token-error" class="error" role="alert">
            The server did not accept that token.
          </p>
        )}
        <button type="submit" class="primary">
          Open
        </button>
      </form>
    </main>
  );
}
