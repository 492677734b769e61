import createClient from 'openapi-fetch';
import type { paths } from './openapi-typescript/types';

const cityName = process.env.CITY ?? 'types';
const key = process.env.SVC_API_KEY;
const api = createClient<paths>({
  baseUrl: process.env.SVC_API ?? 'http://localhost:8372',
  headers: { 'X-SVC-Request': 'openapi-typescript', ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }) },
});

function good<T>({ data, error }: { data?: T; error?: { detail?: string } }): T {
  if (data === undefined) throw new Error(error?.detail ?? 'no answer');
  return data;
}

const accepted = good(await api.POST('/v0/city', { body: { dir: cityName, provider: 'loopback' } }));
for (let done = false; !done;) {
  const { items } = good(await api.GET('/v0/events', { params: { query: { after_cursor: accepted.event_cursor } } }));
  for (const event of items) {
    if (event.type === 'request.failed' && event.payload.request_id === accepted.request_id)
      throw new Error(String(event.payload.error_message));
    if (event.type === 'request.result.city.create' && event.payload.request_id === accepted.request_id) done = true;
  }
}

const path = { cityName };
const bead = good(await api.POST('/v0/city/{cityName}/beads', { params: { path }, body: { title: 'The parser', labels: ['first'] } }));
const beads = good(await api.GET('/v0/city/{cityName}/beads', { params: { path, query: { status: 'open', limit: 10 } } }));
const one = { params: { path: { cityName, id: bead.id } } };
const claim = good(await api.POST('/v0/city/{cityName}/bead/{id}/claim', { ...one, body: { assignee: 'mayor' } }));
good(await api.POST('/v0/city/{cityName}/bead/{id}/close', { ...one, body: { reason: 'done' } }));
const mail = good(
  await api.POST('/v0/city/{cityName}/mail', { params: { path }, body: { to: 'human', subject: 'Done', body: bead.title } }),
);
const emitted = good(
  await api.POST('/v0/city/{cityName}/events', {
    params: { path },
    body: { type: 'shop.sold', actor: 'types', payload: { bead: bead.id } },
  }),
);
const events = good(await api.GET('/v0/city/{cityName}/events', { params: { path, query: { type: 'bead.closed' } } }));
const sold = good(await api.GET('/v0/city/{cityName}/events', { params: { path, query: { type: 'shop.sold' } } })).items.find(
  ({ seq }) => seq === emitted.seq,
);

console.log(
  JSON.stringify({
    bead: bead.id,
    listed: beads.items?.map(({ id }) => id),
    claimed: claim.claimed,
    mail: mail.subject,
    closed: events.items.map(({ subject }) => subject),
    streamed: `${sold?.type} ${JSON.stringify(sold?.payload)}`,
  }),
);
