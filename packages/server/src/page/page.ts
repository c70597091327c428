import type { Delivery, SenderSettings } from "@countersign/sender";
import type { KeptRejection } from "../ledger/ledger.ts";
import { type DestinationStats, namedDestinations, withoutSettingsLine } from "../settings/settings-edit.ts";
import { html, type Html } from "./html.ts";

/** What the page shows. */
export interface PageContent {
  readonly deliveries: readonly Delivery[];
  readonly rejections: readonly KeptRejection[];
  readonly settings: SenderSettings;
  /** Destinations whose deliveries wait, because they have no settings. */
  readonly withoutSettings: readonly DestinationStats[];
}

const style = html`<style>
  :root {
    color-scheme: light dark;
    font:
      15px/1.5 system-ui,
      sans-serif;
  }
  body {
    margin: 2rem auto;
    max-width: 72rem;
    padding: 0 1rem;
  }
  table {
    border-collapse: collapse;
    width: 100%;
  }
  caption {
    text-align: left;
    font-weight: 600;
    padding: 1.5rem 0 0.5rem;
  }
  th,
  td {
    text-align: left;
    padding: 0.3rem 0.8rem 0.3rem 0;
    border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent);
    vertical-align: top;
  }
  td {
    overflow-wrap: anywhere;
  }
</style>`;

/** The last deliveries as a plain page, complete without a script. */
export function renderPage({ deliveries, rejections, settings, withoutSettings }: PageContent): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta http-equiv="refresh" content="5" />
        <title>Countersign</title>
        ${style}
      </head>
      <body>
        <main>
          <h1>Countersign</h1>
          <ul>
            ${settings.sources.flatMap((source) =>
              namedDestinations(source).map(
                ({ name, endpoints, secret, enabled = true }) =>
                  html`<li>
                    ${source.name}/${name}: ${endpoints.map(({ url }) => url).join(", ")}
                    (${secret === undefined ? "not signed" : "signed"}${enabled ? "" : ", disabled"})
                  </li>`,
              ),
            )}
            ${withoutSettings.map((destination) => html`<li>${withoutSettingsLine(destination)}</li>`)}
          </ul>
          ${deliveryTable(deliveries)} ${rejections.length > 0 ? rejectionTable(rejections) : ""}
          <p>
            The control API is described at <a href="/api/openapi.json">/api/openapi.json</a>; metrics are at
            <a href="/metrics">/metrics</a>.
          </p>
        </main>
      </body>
    </html> `.markup;
}

function deliveryTable(deliveries: readonly Delivery[]): Html {
  if (deliveries.length === 0) return html`<p>No deliveries yet. Send a call to <code>/v1/track</code>.</p>`;
  return html`<table>
    <caption>
      The last deliveries
    </caption>
    <thead>
      <tr>
        <th scope="col">Accepted</th>
        <th scope="col">Type</th>
        <th scope="col">Event</th>
        <th scope="col">User</th>
        <th scope="col">Destination</th>
        <th scope="col">State</th>
        <th scope="col">Last attempt</th>
      </tr>
    </thead>
    <tbody>
      ${deliveries.map(
        ({ id, acceptedAt, type, event, identity, destination, state, attempts }) =>
          html` <tr>
            <td><a href="/api/deliveries/${id}">${time(acceptedAt)}</a></td>
            <td>${type}</td>
            <td>${event}</td>
            <td>${identity}</td>
            <td>${destination}</td>
            <td>${state}</td>
            <td>${lastAttempt(attempts)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

function rejectionTable(rejections: readonly KeptRejection[]): Html {
  return html`<table>
    <caption>
      Received and not accepted
    </caption>
    <thead>
      <tr>
        <th scope="col">Received</th>
        <th scope="col">Type</th>
        <th scope="col">Reason</th>
        <th scope="col">Detail</th>
      </tr>
    </thead>
    <tbody>
      ${rejections.map(
        ({ receivedAt, type, reason, detail }) =>
          html` <tr>
            <td>${receivedAt}</td>
            <td>${type}</td>
            <td>${reason}</td>
            <td>${detail}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

function lastAttempt(attempts: Delivery["attempts"]): string {
  const last = attempts.at(-1);
  if (!last) return "none yet";
  return `${last.status ?? last.code ?? last.outcome} after ${Math.round(last.durationMs)} ms (${attempts.length} in all)`;
}

function time(at: number): string {
  return new Date(at).toISOString();
}
