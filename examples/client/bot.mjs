// A bot at the front desk: what is mailed to `human` is asked of an agent, and answered. It may be killed at any moment and begun again.
import { readFile, rename, writeFile } from 'node:fs/promises';
import { connect, fromEnvironment, TurnLost } from 'supervisor-control-plane/client/node';

const { SVC_CITY: city = 'demo', SVC_AGENT: agent = 'mayor', BOT_STATE: state = 'bot.position' } = process.env;
const client = connect({ ...fromEnvironment(), name: 'bot' });
const session = client.session(city, agent);
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());

// Killed in the middle of writing it, too, it has the position before.
const keep = async (position) => {
  await writeFile(`${state}.next`, position);
  await rename(`${state}.next`, state);
};
const kept = (await readFile(state, 'utf8').catch(() => '')).trim();
// Where it begins is kept before the first event: what comes while nobody listens is heard by its next life.
// In the log of one city they are the same.
const lastEventId = kept || (await client.head({ city }));
if (kept === '') await keep(lastEventId);
const events = client.events({ city, types: ['mail.sent'], lastEventId, signal: stop.signal });
console.log('listening');
for await (const { payload } of events) {
  const mail = payload.message;
  if (mail?.to === 'human') {
    // The keys make the second life of this program ask and answer what the first one has, and not once more.
    const turn = await session.send(`${mail.subject}\n\n${mail.body}`, { idempotencyKey: `ask-${mail.id}` });
    const answer = await turn.answer({ onQuestion: ({ choices = [] }) => ({ action: choices.at(-1)?.id ?? 'deny' }) }).catch((error) => {
      if (error instanceof TurnLost) return { text: `No answer: ${error.message}` };
      throw error;
    });
    const body = { from: 'human', body: answer.isCutOff ? `${answer.text}\n\n(cut off)` : answer.text };
    await client.post('/v0/city/{cityName}/mail/{id}/reply', {
      path: { cityName: city, id: mail.id },
      body,
      idempotencyKey: `reply-${mail.id}`,
    });
    console.log(`${mail.id}: ${answer.text}`);
  }
  await keep(events.lastEventId);
}
