import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Bubblewrap } from '../../src/platform/isolation/bubblewrap.js';
import type { Mount } from '../../src/platform/isolation/mounts.js';
import type { Program } from '../../src/platform/runtime/port.js';
import { spawnAgent } from '../../src/platform/runtime/spawn.js';
import type { Bar, Context } from '../lib/context.js';
import { ROOT } from '../lib/child.js';
import { ms, type Line } from '../lib/report.js';
import { median } from '../lib/stats.js';

const LIMITS = { memory: 8 * 1024 ** 3, processes: 4_096, files: 4_096 };
const STARTS = 20;
const MESSAGES = 2_000;
/** About as many as a session with a rig and two packs has. */
const PACKS = 2;

/** What a session sees: its own folders, its city, packs, what is shipped. */
async function mountsIn(dir: string): Promise<{ mounts: Mount[]; cwd: string }> {
  const city = join(dir, 'city');
  const folders = ['home', 'tmp', 'city/.gc/worktrees', 'city/.gc/runtime/overlays', 'city/.gc/sessions', 'city/rigs/web'];
  const packs = Array.from({ length: PACKS }, (_, i) => join(dir, `pack-${i}`));
  await Promise.all([...folders.map((at) => join(dir, at)), ...packs].map((at) => mkdir(at, { recursive: true })));
  const mounts: Mount[] = [
    { at: '/root', mode: 'write', from: join(dir, 'home') },
    { at: '/tmp', mode: 'write', from: join(dir, 'tmp') },
    ...['bin', 'dist', 'node_modules', 'packs', 'package.json'].map((at): Mount => ({ at: join(ROOT, at), mode: 'read' })),
    ...packs.map((at): Mount => ({ at, mode: 'read' })),
    { at: city, mode: 'write' },
    { at: join(city, '.gc'), mode: 'read' },
    { at: join(city, '.gc/worktrees'), mode: 'write' },
    { at: join(city, '.gc/runtime'), mode: 'write' },
    { at: join(city, '.gc/runtime/overlays'), mode: 'hidden' },
    { at: join(city, '.gc/sessions'), mode: 'hidden' },
    { at: join(city, 'rigs/web'), mode: 'write' },
  ];
  return { mounts, cwd: city };
}

export const isolation: Bar = {
  ids: ['I1'],
  title: 'a program in a sandbox of its own, against the same without one',
  async run(context: Context) {
    const bubblewrap = await Bubblewrap.tryOn(LIMITS, join(context.tempDir, 'isolation'));
    const { mounts, cwd } = await mountsIn(context.tempDir);
    const sandbox = bubblewrap.sandbox(mounts, '');
    const program = (line: string): Program => ({
      command: '/bin/sh',
      args: ['-c', line],
      cwd,
      env: { PATH: '/usr/bin:/bin', HOME: '/root' },
    });
    /** Milliseconds from the spawn to the first word. */
    const starts = async (isolated: boolean): Promise<number> => {
      const taken: number[] = [];
      for (let i = 0; i < STARTS; i++) {
        const began = performance.now();
        const agent = await spawnAgent({ ...program('echo'), ...(isolated ? { sandbox } : {}) });
        await once(agent.stdout, 'data');
        taken.push(performance.now() - began);
        await agent.closed;
      }
      return median(taken);
    };
    /** Microseconds of one line there and back. */
    const messages = async (isolated: boolean): Promise<number> => {
      const agent = await spawnAgent({ ...program('exec cat'), ...(isolated ? { sandbox } : {}) });
      const began = performance.now();
      for (let i = 0; i < MESSAGES; i++) {
        agent.stdin.write('a message\n');
        await once(agent.stdout, 'data');
      }
      const each = ((performance.now() - began) * 1_000) / MESSAGES;
      await agent.end({ hard: true });
      return each;
    };
    await context.turns({ ours: () => starts(true), floor: () => starts(false) }, 1); // warm
    const begun = await context.turns({ ours: () => starts(true), floor: () => starts(false) });
    const told = await context.turns({ ours: () => messages(true), floor: () => messages(false) });
    const [ours, floor] = [median(begun.ours), median(begun.floor)];
    const micros = (all: readonly number[]): string => `${median(all).toFixed(0)} µs`;
    const lines: Line[] = [
      { bar: 'I1', what: 'start to the first word', ours: ms(ours), floor: ms(floor), reach: '≤ floor + 15 ms', met: ours - floor <= 15 },
      { bar: 'I1', what: 'a line to a program and back', ours: micros(told.ours), floor: micros(told.floor), reach: '' },
    ];
    return lines;
  },
};
