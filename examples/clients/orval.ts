import * as svc from './orval/api';

const cityName = process.env.CITY ?? 'orval';
const key = process.env.SVC_API_KEY;
const options = { headers: { 'X-SVC-Request': 'orval', ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }) } };

/** An answer tells its status: the type of its data follows from it. */
function good<T extends { status: number; data: unknown }>(answer: T): Extract<T, { status: 200 | 201 | 202 }>['data'] {
  if (answer.status >= 300) throw new Error(JSON.stringify(answer.data));
  return answer.data;
}

const accepted = good(await svc.createCity({ dir: cityName, provider: 'loopback' }, options));
for (let done = false; !done;) {
  const { items } = good(await svc.listAllEvents({ after_cursor: accepted.event_cursor }, options));
  for (const event of items) {
    if (event.type === 'request.failed') throw new Error(JSON.stringify(event.payload));
    if (event.type === 'request.result.city.create') done = true;
  }
}

const bead = good(await svc.createBead(cityName, { title: 'The parser', labels: ['first'] }, options));
const beads = good(await svc.listBeads(cityName, { status: 'open', limit: 10 }, options));
const claim = good(await svc.claimBead(cityName, bead.id, { assignee: 'mayor' }, options));
good(await svc.closeBead(cityName, bead.id, { reason: 'done' }, options));
const mail = good(await svc.sendMail(cityName, { to: 'human', subject: 'Done', body: bead.title }, options));
const emitted = good(await svc.emitEvent(cityName, { type: 'shop.sold', actor: 'orval', payload: { bead: bead.id } }, options));
const events = good(await svc.listEvents(cityName, { type: 'bead.closed' }, options));
const sold = good(await svc.listEvents(cityName, { type: 'shop.sold' }, options)).items.find(({ seq }) => seq === emitted.seq);

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
