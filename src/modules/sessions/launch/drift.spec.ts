import { describe, expect, it } from '@jest/globals';
import { configOf, type Files } from '../../files/composition/compose/testing/city.js';
import { differences, driftOf, driftStep, type DriftFacts, type DriftStep, type Started } from './drift.js';
import { partsOf } from './fingerprint.js';

const started = (more: Partial<Started> = {}): Started => ({
  kind: 'agent',
  template: 'one',
  options: {},
  live: true,
  launch_hash: 'old',
  launch_options: {},
  accepted_hash: null,
  ...more,
});

describe('a drift', () => {
  it.each<[string, Partial<Started>, string | undefined, ReturnType<typeof driftOf>]>([
    ['another configuration', {}, 'new', { now: 'new', accepted: false }],
    ['the same one', {}, 'old', undefined],
    ['an agent that is not configured any more', {}, undefined, undefined],
    ['no process', { live: false }, 'new', undefined],
    ['a start that has noted nothing', { launch_hash: null }, 'new', undefined],
    ['one that a person has accepted', { accepted_hash: 'new' }, 'new', { now: 'new', accepted: true }],
    ['one after that', { accepted_hash: 'new' }, 'newer', { now: 'newer', accepted: false }],
    ['the first one again', { accepted_hash: 'new' }, 'old', undefined],
  ])('is told for %s as it is', (_, row, now, expected) => {
    expect(driftOf(started(row), () => now)).toEqual(expected);
  });

  it('is none for an option that the live agent has taken', () => {
    const hash = (row: Pick<Started, 'options'>): string => JSON.stringify(row.options);
    const row = started({ launch_hash: hash({ options: { model: 'a' } }), launch_options: { model: 'a' }, options: { model: 'b' } });
    expect(driftOf(row, hash)).toBeUndefined();
    expect(driftOf({ ...row, launch_options: null }, hash)).toBeDefined();
  });
});

describe('what comes of a drift', () => {
  const idle: DriftFacts = {
    accepted: false,
    stop: null,
    stopReason: null,
    orphaned: false,
    blocked: false,
    inTurn: false,
    asks: false,
    restarts: true,
  };
  it.each<[Partial<DriftFacts>, DriftStep]>([
    [{}, 'restart_now'],
    [{ inTurn: true }, 'restart_after_turn'],
    [{ inTurn: true, asks: true }, 'restart_after_answer'],
    [{ restarts: false, inTurn: true }, 'kept'],
    [{ accepted: true, restarts: false, asks: true }, 'accepted'],
    [{ blocked: true, accepted: true, inTurn: true }, 'restart_after_resume'],
    [{ orphaned: true, blocked: true }, 'stopping'],
    [{ stop: 'drain', stopReason: 'config-drift', blocked: true, inTurn: true }, 'restarting'],
    [{ stop: 'drain', stopReason: 'no-wake-reason' }, 'stopping'],
    [{ stop: 'suspend', stopReason: 'config-drift', accepted: true }, 'stopping'],
  ])('%j: %s', (more, step) => expect(driftStep({ ...idle, ...more })).toBe(step));

  it('is a restart only between turns, of what nobody keeps', () => {
    const flags = ['accepted', 'orphaned', 'blocked', 'inTurn', 'asks', 'restarts'] as const;
    for (let bits = 0; bits < 2 ** flags.length; bits++) {
      const facts = { ...idle, ...Object.fromEntries(flags.map((flag, n) => [flag, (bits & (1 << n)) !== 0])) };
      const keeps = facts.accepted || facts.orphaned || facts.blocked || facts.inTurn || facts.asks || !facts.restarts;
      expect(driftStep(facts) === 'restart_now').toBe(!keeps);
    }
  });
});

describe('parts', () => {
  const agent = (text: string): Files => ({ 'agents/one/agent.toml': text, 'agents/one/prompt.md': 'Do it.' });
  const provider = (name: string, text = ''): string =>
    `[workspace]\nprovider = "${name}"\n[providers.${name}]\nbase = "builtin:${name}"\n${text}`;
  const of = async (text: string, files: Files = agent('')): Promise<Readonly<Record<string, string>>> =>
    partsOf(await configOf({ 'city.toml': text, ...files }), { kind: 'agent', template: 'one', options: {} })!;

  it.each<[string, string, string, string[]]>([
    ['arguments', '', 'args = ["-x"]\n', ['args']],
    ['variables by name', '', '[env]\nA = "1"\nB = "2"\n', ['env.A', 'env.B']],
    ['a directory', '', 'work_dir = "x"\n', ['work_dir']],
    ['an option, not its arguments', '', '[option_defaults]\npermission_mode = "deny"\n', ['options.permission_mode']],
    ['a command', '[providers.loopback]\nbase = "builtin:loopback"\ncommand = "other"\n', '', ['command']],
    ['nothing for a credential', '', '[env]\nAPI_TOKEN = "x"\n', []],
    ['nothing for a description', '', 'description = "x"\n', []],
  ])('name %s', async (_, text, files, expected) => {
    const city = text === '' ? provider('loopback') : `[workspace]\nprovider = "loopback"\n${text}`;
    expect(differences(await of(provider('loopback')), await of(city, agent(files)))).toEqual(expected);
  });

  it('never have a value in them', async () => {
    const parts = await of(provider('loopback'), agent('args = ["--key", "hush"]\n[env]\nA = "hush"\n'));
    expect(parts).toHaveProperty(['env.A'], expect.stringMatching(/^[0-9a-f]{16}$/));
    expect(JSON.stringify(parts)).not.toContain('hush');
  });

  it('that were not noted are not guessed', () => expect(differences(null, { args: 'x' })).toEqual([]));
});
