import { expect, it } from '@jest/globals';
import { LeaseTimings } from '../../../sessions/launch/leased-work.js';
import { CheckRunner } from './check-runner.js';

// Guard: nothing can be said of a round by the state of one host at one moment.
it('a script that could not begin just now is given back, and says nothing of its run', async () => {
  const heard: string[] = [];
  const stops: (() => unknown)[] = [];
  const [tried, given] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const check = {
    pk: 1,
    attempts: 1,
    round: 1,
    city: { streamId: 1 },
    output: null,
    step: { id: 'a', control: { script: { file: 'x' } } },
  };
  const waits = [check];
  const repository = {
    claim: async () => waits.splice(0),
    grant: async () => true,
    giveBack: async () => (heard.push('given back'), given.resolve()),
  };
  const commands = { run: async () => (tried.resolve(), { code: null, how: 'busy', output: '', error: 'too much' }) };
  const runner = new CheckRunner(
    ...([
      { processId: 'worker', runnerCapacity: 1 },
      repository,
      commands,
      { run: async () => (heard.push('settled'), given.resolve()) },
      {},
      { mintCommand: () => ({ token: '', hash: '' }) },
      { run: (work: (tx: object) => unknown) => work({}) },
      new LeaseTimings(),
      { onTopics: () => () => undefined },
      { watch: (_ms: number, _due: unknown, ring: () => void) => ring() },
      { onStop: (_phase: string, _name: string, stop: () => unknown) => stops.push(stop) },
      { hit: async () => undefined },
      { warn: ({ error }: { error?: string }) => heard.push(`warned: ${error}`) },
    ] as unknown as ConstructorParameters<typeof CheckRunner>),
  );
  runner.onApplicationBootstrap();
  await tried.promise;
  // Nobody waits for a pause.
  await Promise.all(stops.map((stop) => stop()));
  await given.promise;
  expect(heard).toEqual(['warned: too much', 'given back']);
});
