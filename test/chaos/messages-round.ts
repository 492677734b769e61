import { playRound, type CityRound, type RoundKind } from './city-round.js';
import { drawMessagesFailpoints } from './failpoints.js';
import { ask } from './http.js';
import { ACCOUNTS, Adapter } from './messages-adapters.js';
import { checkMessages } from './messages-checker.js';
import { MessagesCity } from './messages-city.js';
import { ConnectedAccount, ConnectedClient } from './messages-connected.js';
import { conversationOf, MessagesClients } from './messages-clients.js';
import { MessagesFaults } from './messages-faults.js';
import { readLeft, readMessages } from './messages-final.js';
import { emptyMessages, saveMessages, type MessagesHistory } from './messages-history.js';
import type { RoundOptions } from './round.js';
import type { ChaosPostgres, ChaosRedis } from './servers.js';
import { ProcessWatch } from './sessions-processes.js';
import { left } from './waiting.js';

/** A publication waits 8 s after its fourth try; a lost worker is noticed after its lease, and then sessions have all that has waited. */
const CALM_MS = 150_000;
/** They share what is published for one account. */
const CONNECTED_CLIENTS = 3;

const KIND: RoundKind<MessagesHistory> = {
  prefix: 'messages-',
  draw: drawMessagesFailpoints,
  // A worker hands its sessions over before it ends.
  workerStopMs: 26_000,
  // Something has to happen between two faults.
  pace: 2,
  environment: { SVC_ALLOWED_TARGETS: '127.0.0.1/32' },
  empty: emptyMessages,
  check: checkMessages,
  save: saveMessages,
};

/** One seed with conversations elsewhere: adapters, those who write through them, sessions that answer, and those who hand over. */
export function runMessagesRound(postgres: ChaosPostgres, redis: ChaosRedis | undefined, options: RoundOptions): Promise<CityRound> {
  return playRound(postgres, redis, options, KIND, (scene) => {
    const { history, random, recorder, now, apis, database, city, atEnd } = scene;
    const adapters: Adapter[] = [];
    const account = new ConnectedAccount();
    const connected: ConnectedClient[] = [];
    let clients!: MessagesClients;
    return {
      prepare: async () => {
        const watch = await ProcessWatch.of(postgres, database, now, []);
        atEnd(() => watch.endAll());
        atEnd(() => Promise.all(adapters.map((adapter) => adapter.close())));
        for (const account of ACCOUNTS) {
          const own = random.fork();
          const adapter = await Adapter.open(account, own, history, now, ({ conversation, idempotency_key, text }) =>
            clients.echo(conversationOf(conversation.conversation_id), `out-${idempotency_key}`, text, own),
          );
          adapters.push(adapter);
        }
        const speakers = [...adapters, account];
        const cast = await new MessagesCity(apis[0]!, city).prepare(speakers, postgres, database);
        history.steady.push(...cast.members);
        clients = new MessagesClients(apis, city.name, random.fork(), history, now, cast, speakers);
        atEnd(() => Promise.all(connected.map((client) => client.close())));
      },
      start: () => {
        for (let n = 1; n <= CONNECTED_CLIENTS; n++)
          connected.push(new ConnectedClient(`client-${n}`, account, apis, city.name, random.fork(), history, now));
        clients.start();
      },
      faults: () => new MessagesFaults(scene, random.fork(), recorder),
      stop: () => clients.stop(),
      settle: async () => {
        for (const adapter of adapters) adapter.settle();
        account.settled = true;
        for (const client of connected) client.settle();
        const open = await left(CALM_MS, async () => {
          const rows = await readLeft(postgres, database);
          if (rows.length > 0) await wake(apis[0]!.url, city.name);
          return rows;
        });
        for (const client of connected) await client.close();
        await readMessages(postgres, database, history, city, apis, random);
        return open.length === 0
          ? []
          : [{ property: 'one final state', message: `${open.length} have not come to an end ${CALM_MS} ms after healing`, entries: open }];
      },
      counts: ({ asks, entries, deliveries, calls, bindings, offers, answers }) => ({
        requests: asks.length,
        entries: entries.length,
        'members told': deliveries.filter(({ direction, state }) => direction !== 'outbound' && state === 'delivered').length,
        publications: deliveries.filter(({ direction }) => direction === 'outbound').length,
        failures: deliveries.filter(({ state }) => state === 'failed').length,
        'calls of adapters': calls.length,
        'given to clients': offers.length,
        acknowledgements: answers.length,
        bindings: bindings.length,
      }),
    };
  });
}

/** A session whose process was lost is started again when somebody asks. */
async function wake(url: string, city: string): Promise<void> {
  const answer = await ask('GET', `${url}/v0/city/${city}/sessions?limit=1000`, { ms: 3_000 });
  if (answer?.status !== 200) return;
  const { items } = JSON.parse(answer.body) as { items: { id: string; state: string; running: boolean }[] | null };
  for (const { id, state, running } of items ?? [])
    if (!running && state !== 'closed') await ask('POST', `${url}/v0/city/${city}/session/${id}/wake`, { ms: 25_000 });
}
