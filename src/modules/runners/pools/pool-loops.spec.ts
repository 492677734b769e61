import { describe, expect, it } from '@jest/globals';
import { agentOf, beads, NOW } from './testing/facts.js';
import { PoolWorld } from './testing/pool-world.js';

const STEP_MS = 10_000;
const PASSES = 100;

function run(world: PoolWorld): PoolWorld {
  for (let n = 0; n < PASSES; n++) world.step(STEP_MS);
  return world;
}

describe('a hundred passes', () => {
  it('come to rest once the work is done', () => {
    const world = new PoolWorld({ turn: 'finish' });
    world.beads = beads(12, NOW - 1_000);
    run(world);
    expect(world.beads).toEqual([]);
    expect(world.sessions).toEqual([]);
    expect(world.counts.create).toBeLessThanOrEqual(12);
    expect(world.counts.wake ?? 0).toBe(0);
    expect(world.step(STEP_MS)).toEqual([]);
  });

  it('keep a minimum without waking and draining it', () => {
    const world = new PoolWorld({ turn: 'finish' });
    world.agents = [agentOf('worker', { min: 2 })];
    run(world);
    expect(world.counts).toEqual({ create: 2 });
    expect(world.sessions).toHaveLength(2);
  });

  it('tell members of a minimum seldom of work that they leave, also where they write why', () => {
    const world = new PoolWorld({ turn: 'notes' });
    world.agents = [agentOf('worker', { min: 2 })];
    world.beads = beads(2, NOW - 1_000);
    run(world);
    // 1,000 s: each at once, and after pauses of 1, 2, 4 and 8 minutes.
    expect(world.counts.nudge).toBeLessThanOrEqual(12);
    expect(world.counts.nudge).toBeGreaterThan(2);
  });

  it.each([
    ['once of some that come together and that it leaves', 'ignore', 1],
    ['of each of some that come together, where it does one a turn', 'finish', 3],
  ] as const)('tell an idle session %s', (_, turn, nudges) => {
    const world = new PoolWorld({ turn });
    world.agents = [agentOf('worker', { min: 1, max: 1 })];
    for (let n = 0; n < 5; n++) world.step(STEP_MS);
    world.beads = [1, 2, 3].map((n) => ({ id: `b-${n}`, at: world.now + n }));
    for (let n = 0; n < 50; n++) world.step(STEP_MS);
    expect(world.counts).toEqual({ create: 1, nudge: nudges });
  });

  it('start few sessions for work that none of them takes', () => {
    const world = new PoolWorld({ turn: 'ignore' });
    world.agents = [agentOf('worker', { max: 1 })];
    world.beads = beads(3, NOW - 1_000);
    run(world);
    // 1,000 s: pauses of 1, 2, 4 and 8 minutes between them.
    expect(world.counts.create).toBeLessThanOrEqual(5);
    expect(world.counts.create).toBeGreaterThan(1);
    expect(world.counts.nudge ?? 0).toBeLessThanOrEqual(world.counts.create!);
  });

  it('start few commands for work that none of them takes before it ends', () => {
    const world = new PoolWorld({ turn: 'ignore', exits: true });
    world.beads = beads(1, NOW - 1_000);
    run(world);
    // One, and after pauses of 1, 2, 4 and 8 minutes another one.
    expect(world.counts.create).toBeLessThanOrEqual(6);
    expect(world.counts.create).toBeGreaterThan(1);
  });

  it.each([
    ['and ends', { exits: true }, 0],
    ['and stays', {}, 6],
  ])('start few members for work of their own that none of them takes, %s', (_, more, nudges) => {
    const world = new PoolWorld({ turn: 'ignore', ...more });
    world.routed.set('worker-1', beads(1, NOW - 1_000));
    run(world);
    expect(world.counts.create).toBeLessThanOrEqual(6);
    expect(world.counts.create).toBeGreaterThan(1);
    expect(world.counts.nudge ?? 0).toBeLessThanOrEqual(nudges);
  });

  it('start a member at once for work of its own that is new', () => {
    const world = new PoolWorld({ turn: 'ignore', exits: true });
    world.routed.set('worker-1', beads(1, NOW - 1_000));
    run(world);
    const { create } = world.counts;
    world.routed.get('worker-1')!.push({ id: 'new', at: world.now + 1 });
    world.step(STEP_MS);
    expect(world.counts.create).toBe(create! + 1);
  });

  it.each(['exited', 'crashed'])('start few for a minimum that have nothing to do and end as %s', (reason) => {
    const world = new PoolWorld({ turn: 'finish', exits: true, reason });
    world.agents = [agentOf('worker', { min: 1 })];
    run(world);
    expect(world.counts.create).toBeLessThanOrEqual(6);
    expect(world.counts.create).toBeGreaterThan(1);
  });

  it('make the first pause after a round of a minimum no longer than that after one session', () => {
    const world = new PoolWorld({ turn: 'finish', exits: true });
    world.agents = [agentOf('worker', { min: 3 })];
    const [first, second, third] = [0, 80_000, 150_000].map((until) => {
      do world.step(STEP_MS);
      while (world.now - NOW < until);
      return world.counts.create;
    });
    expect([first, second, third]).toEqual([3, 6, 6]);
  });

  it('start one at once for a minimum that rests, when there is work', () => {
    const world = new PoolWorld({ turn: 'finish', exits: true });
    world.agents = [agentOf('worker', { min: 1 })];
    run(world);
    const { create } = world.counts;
    // It can be begun since a moment, and was made long before.
    world.beads = beads(1, NOW - 1_000);
    world.step(STEP_MS);
    expect([world.beads, world.counts.create]).toEqual([[], create! + 1]);
  });

  it('start few of what others wait for, where it ends at once', () => {
    const world = new PoolWorld({ turn: 'finish', exits: true });
    world.agents = [agentOf('archive'), agentOf('worker', {}, { needs: ['archive'] })];
    world.beads = beads(1, NOW - 1_000);
    run(world);
    expect(world.beads).toHaveLength(1);
    expect(world.counts.create).toBeLessThanOrEqual(6);
    expect(world.counts.create).toBeGreaterThan(1);
  });

  it('start at once what others wait for, where work is new', () => {
    const world = new PoolWorld({ turn: 'finish', exits: true });
    world.agents = [agentOf('archive'), agentOf('worker', {}, { needs: ['archive'] })];
    world.beads = beads(1, NOW - 1_000);
    run(world);
    const { create } = world.counts;
    world.beads.push({ id: 'new', at: world.now + 1 });
    world.step(STEP_MS);
    expect(world.counts.create).toBe(create! + 1);
    run(world);
    expect(world.counts.create).toBeLessThanOrEqual(create! + 4);
  });

  it('start a command for each piece of work that one does before it ends', () => {
    const world = new PoolWorld({ turn: 'finish', exits: true });
    world.beads = beads(12, NOW - 1_000);
    run(world);
    expect(world.beads).toEqual([]);
    expect(world.sessions).toEqual([]);
    expect(world.counts.create).toBe(12);
  });

  it('wake one whose process ends with its work undone more and more seldom, and never let it go', () => {
    const world = new PoolWorld({ turn: 'keep', exits: true });
    world.beads = beads(1, NOW - 1_000);
    run(world);
    expect(world.counts.create).toBe(1);
    // 30 s, 1, 2, 4 and 8 minutes.
    expect(world.counts.wake).toBeLessThanOrEqual(7);
    expect(world.wrongs).toEqual([]);
    expect(world.sessions).toMatchObject([{ held: ['b-1'] }]);
  });

  it('leave one that keeps its work alone', () => {
    const world = new PoolWorld({ turn: 'keep' });
    world.beads = beads(1, NOW - 1_000);
    run(world);
    expect(world.counts).toEqual({ create: 1 });
    expect(world.wrongs).toEqual([]);
  });

  it('go on with new work at once after one that was done', () => {
    const world = new PoolWorld({ turn: 'finish' });
    for (let n = 0; n < PASSES; n++) {
      if (n % 10 === 0) world.beads.push({ id: `new-${n}`, at: world.now });
      world.step(STEP_MS);
      expect(world.beads.length).toBeLessThanOrEqual(1);
    }
    expect(world.beads).toEqual([]);
  });
});
