import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { etag, sources } from "../../data/app-state.ts";
import type { Source } from "../../shapes/settings.ts";
import { Failure } from "../../parts/failure.tsx";
import { First } from "../../parts/many.tsx";
import { Mark } from "../../parts/mark.tsx";
import { useAction } from "../../parts/use-action.tsx";
import { hrefOf, route } from "../../route/route.ts";
import { plural } from "../../words/format.ts";
import { DestinationForm } from "./destination-form.tsx";
import { removeSettings } from "./save.ts";

/** Sources and destinations: a list, and the form of the one that is chosen. */
export function Settings(): JSX.Element {
  const { parameters } = route.value;
  const [from, name] = [parameters.get("source"), parameters.get("destination")];
  const isNew = parameters.has("new");
  const source = sources.value.find((item) => item.name === from);
  const destination = source?.destinations.find((item) => item.name === name);
  const key = `${from}/${name}/${isNew}`;
  // A form that is open stays when somebody else removes what it edits: what was typed can be saved or discarded.
  const opened = useRef("");
  if (isNew ? from === null || source : destination) opened.current = key;
  else if (opened.current !== key) opened.current = "";
  const isRead = etag.value !== undefined;
  const asked = isNew ? `source "${from}"` : name !== null && `destination "${from}/${name}"`;
  return (
    <div class="screen">
      <div class="section-head">
        <h2>Settings</h2>
        <a href="/api/config" download="countersign.config.ts">
          Save as countersign.config.ts
        </a>
        <a class="button" href={hrefOf("settings", { new: "source" })}>
          Add a source
        </a>
      </div>
      {!opened.current && isRead && asked && (
        <Failure text={`There is no ${asked}. Somebody may have removed it.`} />
      )}
      <div class="columns settings">
        <div class="stack">
          <First all={sources.value} noun="source" textOf={textOf}>
            {(first) =>
              first.map((item) => (
                <section key={item.name} class="card stack" aria-label={`Source ${item.name}`}>
                  <h3>
                    {item.name}{" "}
                    <span class="about">
                      {item.managedBy === "config" ? "of the config file or the command line" : "added here"}
                    </span>
                  </h3>
                  <ul class="rows-list">
                    {item.destinations.map(({ name, endpoints, signed, enabled }) => (
                      <li key={name}>
                        <a
                          href={hrefOf("settings", { source: item.name, destination: name })}
                          aria-current={destination?.name === name && source === item}
                        >
                          {name}
                        </a>
                        <span class="note">{plural(endpoints.length, "endpoint")}</span>
                        <span class="grow" />
                        <Mark tone={signed ? "good" : "warn"} word={signed ? "signed" : "not signed"} />
                        <Mark tone={enabled ? "good" : "plain"} word={enabled ? "enabled" : "disabled"} />
                      </li>
                    ))}
                  </ul>
                  <div class="actions">
                    <a href={hrefOf("settings", { source: item.name, new: "destination" })}>
                      Add a destination
                    </a>
                    {item.destinations.length === 0 && <RemoveSource name={item.name} />}
                  </div>
                </section>
              ))
            }
          </First>
        </div>
        {opened.current && isRead && <DestinationForm key={key} source={source} destination={destination} />}
      </div>
    </div>
  );
}

/** A source with the full names of its destinations, and their URLs. */
function textOf({ name, destinations }: Source): string {
  const each = destinations.map((one) => [`${name}/${one.name}`, one.endpoints.map(({ url }) => url)]);
  return [name, each].flat(3).join(" ");
}

/** Removes a source that has no destinations, unless somebody adds one at the same moment. */
function RemoveSource({ name }: { readonly name: string }): JSX.Element {
  const { run, failure } = useAction();
  const remove = (): void => run(() => removeSettings(etag.value, name));
  return (
    <>
      <span class="grow" />
      <button type="button" class="danger" onClick={remove}>
        Remove the source
      </button>
      {failure}
    </>
  );
}
