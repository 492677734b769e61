import { loadConfig } from '../../platform/config/config.js';
import { armedFailpoints } from '../../platform/failpoints/arm.js';
import { explain } from '../explain.js';
import { Supervisor } from '../supervisor.js';
import { ANSWER_MS } from './measures.js';
import type { FromPart, Settings, ToPart } from './messages.js';

/** Longer than whoever has started it waits for each of the others. */
const GATHER_MS = ANSWER_MS + 2_000;

const send = (message: FromPart): void => {
  if (process.connected) process.send!(message, undefined, undefined, () => undefined);
};

/** Answers, or works, for whoever has started this process: that one says how, and when it is over. */
function run(settings: Settings): void {
  const config = loadConfig(process.env, process.cwd()).with(settings);
  const supervisor = new Supervisor(config, {
    failpoints: armedFailpoints(process.env.SVC_TEST_FAILPOINTS),
    // A worker has nothing to say to anybody but its database: its probes are answered by whether it is there.
    listens: config.role !== 'worker',
  });
  let ending = false;
  const end = async (code: number): Promise<void> => {
    if (ending) return;
    ending = true;
    await supervisor.stop().catch((error: unknown) => supervisor.logger.error({ err: error }, 'the stop failed'));
    process.exit(code);
  };

  let asking: Promise<readonly string[]> | undefined;
  let gathered: ((texts: readonly string[]) => void) | undefined;
  // What all of them measure says whoever has started them; when that takes too long, what this one does is better than nothing.
  const gather = (): Promise<readonly string[]> =>
    (asking ??= new Promise<readonly string[]>((resolve) => {
      const late = setTimeout(() => void supervisor.measures().then((text) => resolve([text])), GATHER_MS);
      gathered = (texts) => {
        clearTimeout(late);
        resolve(texts);
      };
      send({ kind: 'gather' });
    }).finally(() => (asking = undefined)));

  process.on('message', (message: ToPart) => {
    if (message.kind === 'stop') void end(0);
    else if (message.kind === 'measure') void supervisor.measures().then((text) => send({ kind: 'measured', id: message.id, text }));
    else if (message.kind === 'gathered') gathered?.(message.texts);
  });
  // Whoever has started it is gone, and nobody else would end it.
  process.once('disconnect', () => void end(0));
  process.on('SIGTERM', () => void end(0));
  const broken = (kind: string) => (error: unknown) => {
    supervisor.logger.fatal({ err: error }, kind);
    void end(1);
  };
  process.on('unhandledRejection', broken('unhandled rejection'));
  process.on('uncaughtException', broken('uncaught exception'));

  supervisor
    .start({ name: config.processName!, gather })
    .then(async () => send({ kind: 'ready', walls: await supervisor.walls(), stopMs: supervisor.stopMs }))
    .catch((error: unknown) => {
      send({ kind: 'failed', why: explain(error, config) });
      void end(1);
    });
}

process.once('message', (message: ToPart) => {
  if (message.kind === 'begin') run(message.settings);
  else process.exit(0);
});
