import { BeadsService, CitiesService, EventsService, MailService, OpenAPI } from './codegen/index';

const cityName = process.env.CITY ?? 'codegen';
OpenAPI.BASE = process.env.SVC_API ?? 'http://localhost:8372';
OpenAPI.TOKEN = process.env.SVC_API_KEY;
OpenAPI.HEADERS = { 'X-SVC-Request': 'codegen' };

/** It takes the `default` answer, a problem, for a success; what is a problem it throws. */
type Problem = { readonly code?: string; readonly detail?: string; readonly instance?: string };
const good = async <T>(answer: Promise<T>): Promise<Exclude<T, Problem>> => (await answer) as Exclude<T, Problem>;

const accepted = await good(CitiesService.postV0City({ dir: cityName, provider: 'loopback' }));
for (let done = false; !done;) {
  const { items } = await good(
    EventsService.getV0Events(undefined, undefined, undefined, undefined, undefined, undefined, undefined, 100, accepted.event_cursor),
  );
  for (const event of items) {
    if (event.type === 'request.failed') throw new Error(JSON.stringify(event.payload));
    if (event.type === 'request.result.city.create') done = true;
  }
}

const bead = await good(BeadsService.createBead(cityName, { title: 'The parser', labels: ['first'] }));
const beads = await good(BeadsService.getV0CityByCityNameBeads(cityName, 'open'));
const claim = await good(BeadsService.claimBead(cityName, bead.id, { assignee: 'mayor' }));
await good(BeadsService.postV0CityByCityNameBeadByIdClose(cityName, bead.id, undefined, { reason: 'done' }));
const mail = await good(MailService.sendMail(cityName, { to: 'human', subject: 'Done', body: bead.title }));
const emitted = await good(EventsService.emitEvent(cityName, { type: 'shop.sold', actor: 'codegen', payload: { bead: bead.id } }));
const events = await good(EventsService.getV0CityByCityNameEvents(cityName, 'bead.closed'));
const sold = (await good(EventsService.getV0CityByCityNameEvents(cityName, 'shop.sold'))).items.find(({ seq }) => seq === emitted.seq);

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
