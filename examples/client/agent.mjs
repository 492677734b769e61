// An agent without a model: it claims what is ready for it, does it, closes it, and waits for the next piece. One may run for each name:
// a claim gives whoever comes under a name what that has under way. Several share the work of a pool as its slots, `worker-1`, `worker-2`.
import { connect, fromEnvironment } from 'supervisor-control-plane/client/node';

const { SVC_CITY: city = 'demo', SVC_AGENT: agent = 'mayor' } = process.env;
const client = connect({ ...fromEnvironment(), name: agent });
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());

/** What this agent is for. A longer piece is held with `POST …/bead/{id}/heartbeat` before its lease ends. */
async function work(bead) {
  return `${bead.title.split(' ').length} words`;
}

/** Everything that is there, one piece after the other. */
async function drain() {
  for (;;) {
    const { bead, fence } = await client.post('/v0/city/{cityName}/hook/claim', { path: { cityName: city }, body: { agent } });
    if (bead === undefined) return;
    const reason = await work(bead);
    await client.post('/v0/city/{cityName}/bead/{id}/close', { path: { cityName: city, id: bead.id }, body: { reason } });
    console.log(`${bead.id} (claim ${fence}): ${reason}`);
  }
}

// First where the log ends, then what is there: nothing comes unseen in between. What has changed may have become ready.
const after = await client.head({ city });
await drain();
for await (const _event of client.events({ city, types: ['bead.created', 'bead.updated'], after, signal: stop.signal })) await drain();
