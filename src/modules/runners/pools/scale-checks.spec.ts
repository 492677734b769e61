import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../../../../test/support/sse.js';
import type { AppConfig } from '../../../platform/config/config.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import type { CityCommand, CityCommands, CommandEnd } from '../../sessions/launch/city-commands.js';
import { askerOf, ScaleChecks, type ScaleCheck } from './scale-checks.js';

const log = new AppLogger(createLogger('silent'));
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  jest.restoreAllMocks();
  for (const stop of stops.splice(0)) await stop();
});

/** Commands that end when the test says so, and are ended when they are told to. */
class Commands {
  readonly asked: CityCommand[] = [];
  readonly #ends: ((end: CommandEnd) => void)[] = [];

  run(command: CityCommand, signal: AbortSignal): Promise<CommandEnd> {
    this.asked.push(command);
    return new Promise((resolve) => {
      this.#ends.push(resolve);
      signal.addEventListener('abort', () => resolve({ code: null, how: 'aborted', output: '' }));
    });
  }

  /** The oldest one that has not ended. */
  end(said: string, how: CommandEnd['how'] = 'exited', more: Partial<CommandEnd> = {}): void {
    this.#ends.shift()!({ code: how === 'exited' ? 0 : null, how, output: '', said, ...more });
  }
}

const made = (runnerCapacity = 1): { commands: Commands; scales: ScaleChecks; news: string[] } => {
  const commands = new Commands();
  const lifecycle = new Lifecycle(log);
  stops.push(() => lifecycle.stop());
  const scales = new ScaleChecks(
    { runnerCapacity, processId: 'host-1-a' } as AppConfig,
    commands as unknown as CityCommands,
    log,
    lifecycle,
  );
  const news: string[] = [];
  scales.onNews(({ name }) => news.push(name));
  return { commands, scales, news };
};
const city = (name: string, streamId = 1): { name: string; streamId: number } => ({ name, streamId });
const check = (agent: string, command = 'count'): ScaleCheck => ({ agent, rig: '', command, file: 'city.toml' });
const HOUR = 3_600_000;

describe('scale_check', () => {
  it.each([
    ['a number', '3\n', 3],
    ['more than anybody can mean', '999999999', 10_000],
    ['something else', 'many', 0],
    ['nothing', '', 0],
    ['a number below zero', '-1', 0],
    ['two numbers', '1\n2', 0],
  ])('says %s', async (_, said, expected) => {
    const { commands, scales, news } = made();
    expect(scales.answers(city('alpha'), [check('worker')], HOUR)).toBeUndefined();
    commands.end(said);
    await eventually(() => Promise.resolve(news.length === 1));
    expect(scales.answers(city('alpha'), [check('worker')], HOUR)).toEqual(new Map([['worker', expected]]));
  });

  it.each(['failed', 'timeout'] as const)('asks for none when it ends by %s, whatever it has said', async (how) => {
    const { commands, scales, news } = made();
    scales.answers(city('alpha'), [check('worker')], HOUR);
    commands.end('3', how);
    await eventually(() => Promise.resolve(news.length === 1));
    expect(scales.answers(city('alpha'), [check('worker')], HOUR)).toEqual(new Map([['worker', 0]]));
  });

  // Guard: what it has said counts while it is asked again, so that nobody waits for it.
  it('is asked again when its answer is old, which counts until then, and tells only what is news', async () => {
    const { commands, scales, news } = made();
    const ask = (freshMs: number): ReturnType<ScaleChecks['answers']> => scales.answers(city('alpha'), [check('worker')], freshMs);
    ask(HOUR);
    commands.end('2');
    await eventually(() => Promise.resolve(news.length === 1));
    expect([ask(HOUR), commands.asked.length]).toEqual([new Map([['worker', 2]]), 1]);
    expect([ask(0), ask(0), commands.asked.length]).toEqual([new Map([['worker', 2]]), new Map([['worker', 2]]), 2]);
    commands.end('2');
    await eventually(() => Promise.resolve(ask(HOUR) !== undefined && commands.asked.length === 2));
    expect(news).toEqual(['alpha']);
    await eventually(() => Promise.resolve(ask(0) !== undefined && commands.asked.length === 3));
    commands.end('5');
    await eventually(() => Promise.resolve(news.length === 2));
    expect(ask(HOUR)).toEqual(new Map([['worker', 5]]));
  });

  it('is waited for no longer than it may take, and is not known then', async () => {
    const { scales } = made();
    scales.limitMs = 50;
    expect(scales.answers(city('alpha'), [check('worker')], HOUR)).toBeUndefined();
    await eventually(() => Promise.resolve(scales.answers(city('alpha'), [check('worker')], HOUR) !== undefined));
    expect(scales.answers(city('alpha'), [check('worker')], HOUR)).toEqual(new Map([['worker', undefined]]));
  });

  // Guard: another worker may have heard something else since, and have decided by it.
  it('is waited for anew when it was not heard for long, no longer than it may take', async () => {
    let now = performance.now();
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    const { commands, scales, news } = made();
    scales.limitMs = 200;
    const ask = (): ReturnType<ScaleChecks['answers']> => scales.answers(city('alpha'), [check('worker')], 10);
    ask();
    commands.end('2');
    await eventually(() => Promise.resolve(news.length === 1));
    expect(ask()).toEqual(new Map([['worker', 2]]));
    now += 300;
    expect(ask()).toBeUndefined();
    commands.end('2');
    await eventually(() => Promise.resolve(news.length === 2));
    expect(ask()).toEqual(new Map([['worker', 2]]));
    now += 300;
    expect(ask()).toBeUndefined();
    now += 199;
    expect(ask()).toBeUndefined();
    now += 1;
    expect(ask()).toEqual(new Map([['worker', undefined]]));
  });

  // Guard: all that is decided about a city's sessions would wait for it, without end; and what nobody knows would be none.
  it('that cannot begin is not known once it has had its time, keeps no other waiting, and is asked again by itself', async () => {
    let now = performance.now();
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    const warn = jest.spyOn(log, 'warn').mockReturnValue();
    const { commands, scales, news } = made();
    scales.limitMs = 200;
    scales.busyMs = 0;
    const ask = (): ReturnType<ScaleChecks['answers']> => scales.answers(city('alpha'), [check('worker'), check('other')], HOUR);
    expect(ask()).toBeUndefined();
    const busy = async (tries: number): Promise<void> => {
      commands.end('', 'busy');
      await eventually(() => Promise.resolve(commands.asked.length === 2 + tries));
    };
    await busy(1);
    // That of the other, and then those of this one alone.
    commands.end('3');
    await eventually(() => Promise.resolve(news.length === 1));
    now += 199;
    expect(ask()).toBeUndefined();
    await busy(2);
    expect(warn).not.toHaveBeenCalled();
    for (let tries = 3; tries < 6; tries++) {
      now += 200;
      expect(ask()).toEqual(
        new Map([
          ['worker', undefined],
          ['other', 3],
        ]),
      );
      await busy(tries);
    }
    expect(warn.mock.calls).toMatchObject([[{ city: 'alpha', agent: 'worker' }, expect.stringContaining('cannot begin')]]);
    commands.end('4');
    await eventually(() => Promise.resolve(news.length === 2));
    expect(ask()?.get('worker')).toBe(4);
  });

  // Guard: a worker that was paused, or had no memory, would have nobody wanted.
  it('that somebody has ended has not said that none is wanted, and is asked again', async () => {
    const { commands, scales, news } = made();
    scales.busyMs = 0;
    scales.answers(city('alpha'), [check('worker')], HOUR);
    commands.end('', 'failed', { killed: true, error: 'ended by SIGTERM' });
    await eventually(() => Promise.resolve(commands.asked.length === 2 || news.length > 0));
    expect(news).toEqual([]);
    commands.end('2');
    await eventually(() => Promise.resolve(news.length === 1));
    expect(scales.answers(city('alpha'), [check('worker')], HOUR)).toEqual(new Map([['worker', 2]]));
  });

  // Guard: it would be run every second.
  it('that is killed again and again, as by itself, is asked less and less, at last as seldom as others', async () => {
    const timers = jest.spyOn(globalThis, 'setTimeout');
    const { commands, scales } = made();
    scales.busyMs = 23;
    scales.answers(city('alpha'), [check('worker')], 151);
    for (let n = 2; n < 7; n++) {
      commands.end('', 'failed', { killed: true, error: 'ended by SIGTERM' });
      await eventually(() => Promise.resolve(commands.asked.length === n));
    }
    const pauses = timers.mock.calls.map(([, ms]) => ms!).filter((ms) => [23, 46, 92, 151, 184].includes(ms));
    expect(pauses).toEqual([23, 46, 92, 151, 151]);
    commands.end('2');
    await eventually(() => Promise.resolve(scales.answers(city('alpha'), [check('worker')], HOUR)?.get('worker') === 2));
  });

  // Guard: nobody else knows whose it is.
  it('has a mark that names who has asked', () => {
    const { commands, scales } = made();
    scales.answers(city('alpha'), [check('worker')], HOUR);
    expect(askerOf(`${commands.asked[0]!.id}.1`)).toBe('host-1-a');
    for (const other of ['1', 'of-12.1', `scale-${crypto.randomUUID()}.1`]) expect(askerOf(other)).toBeUndefined();
  });

  it('that cannot begin is left alone when nobody asks any more', async () => {
    let now = performance.now();
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    const { commands, scales } = made();
    scales.busyMs = 0;
    scales.answers(city('alpha', 1), [check('worker')], 10);
    now += 60_000;
    scales.answers(city('beta', 2), [check('worker')], 10);
    commands.end('', 'busy');
    commands.end('', 'busy');
    await eventually(() => Promise.resolve(commands.asked.length === 3));
    expect(commands.asked.map((command) => command.city.name)).toEqual(['alpha', 'beta', 'beta']);
  });

  it('is another one when its command is', () => {
    const { commands, scales } = made();
    scales.answers(city('alpha'), [check('worker', 'one')], HOUR);
    scales.answers(city('alpha'), [check('worker', 'two')], HOUR);
    expect(commands.asked.map((command) => 'line' in command && command.line)).toEqual(['one', 'two']);
  });

  it('is not run by a worker that runs nothing for cities, which leaves the city to others', () => {
    const { commands, scales } = made(0);
    expect([scales.answers(city('alpha'), [check('worker')], HOUR), commands.asked]).toEqual([undefined, []]);
  });

  // Guard: commands take as long as their city likes.
  it('of a city that has many leaves places to others', () => {
    const { commands, scales } = made();
    const many = Array.from({ length: 20 }, (_, n) => check(`a${n}`));
    scales.answers(city('alpha', 1), many, HOUR);
    scales.answers(city('beta', 2), many, HOUR);
    const count = (name: string): number => commands.asked.filter((command) => command.city.name === name).length;
    expect([count('alpha'), count('beta')]).toEqual([4, 2]);
  });
});
