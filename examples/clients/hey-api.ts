import { client } from './hey-api/client.gen';
import * as svc from './hey-api/sdk.gen';

const cityName = process.env.CITY ?? 'hey';
client.setConfig({
  baseUrl: process.env.SVC_API ?? 'http://localhost:8372',
  auth: ({ scheme }) => (scheme === 'bearer' ? process.env.SVC_API_KEY : 'hey-api'),
  throwOnError: true,
});
const throwOnError = true as const;
/** A stream lives until it is ended: leaving its loop leaves its connection open. */
const over = new AbortController();
const { signal } = over;
const onSseError = (error: unknown): never => {
  throw error;
};

const { data: accepted } = await svc.createCity({ body: { dir: cityName, provider: 'loopback' }, throwOnError });
const { stream: feed } = await svc.streamSupervisorEvents({ query: { after_cursor: accepted.event_cursor }, onSseError, signal });
for await (const event of feed) {
  if (!('type' in event)) continue;
  if (event.type === 'request.failed' && event.payload.request_id === accepted.request_id)
    throw new Error(String(event.payload.error_message));
  if (event.type === 'request.result.city.create' && event.payload.request_id === accepted.request_id) break;
}

const path = { cityName };
const { data: bead } = await svc.createBead({
  path,
  body: { title: 'The parser', labels: ['first'], defer_until: '2020-01-01T00:00:00+01:00' },
  throwOnError,
});
const { data: beads } = await svc.listBeads({ path, query: { status: 'open', limit: 10 }, throwOnError });
const { data: claim } = await svc.claimBead({ path: { cityName, id: bead.id }, body: { assignee: 'mayor' }, throwOnError });
await svc.closeBead({ path: { cityName, id: bead.id }, body: { reason: 'done' }, throwOnError });
const { data: mail } = await svc.sendMail({ path, body: { to: 'human', subject: 'Done', body: bead.title }, throwOnError });
const { data: emitted } = await svc.emitEvent({
  path,
  body: { type: 'shop.sold', actor: 'hey-api', payload: { bead: bead.id, at: ['x'] } },
  throwOnError,
});
const { data: events } = await svc.listEvents({ path, query: { type: 'bead.closed' }, throwOnError });

let streamed = '';
const { stream } = await svc.streamEvents({ path, query: { after_seq: '0' }, onSseError, signal });
for await (const event of stream) {
  if (!('seq' in event) || event.seq !== emitted.seq) continue;
  streamed = `${event.type} ${JSON.stringify(event.payload)}`;
  break;
}

over.abort();
console.log(
  JSON.stringify({
    bead: bead.id,
    listed: beads.items?.map(({ id }) => id),
    claimed: claim.claimed,
    mail: mail.subject,
    closed: events.items.map(({ subject }) => subject),
    streamed,
  }),
);
