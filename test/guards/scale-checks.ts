import type { Guard } from './guard.js';

const SCALES = 'src/modules/runners/pools/scale-checks.ts';
const SCALES_SPEC = 'src/modules/runners/pools/scale-checks.spec.ts';

/** How many sessions the commands of a city say that it wants. */
export const SCALE_CHECKS: readonly Guard[] = [
  {
    guard: 'What a scale_check has said counts while it is asked again.',
    file: SCALES,
    find: 'before?.check.command === check.command ?',
    replace: 'before?.check.command === check.command && now - before.askedAt < freshMs ?',
    test: SCALES_SPEC,
    name: 'is asked again when its answer is old',
  },
  {
    guard: 'A city that has many ask how many sessions they want leaves places to others.',
    file: SCALES,
    find: 'const CITY = { alone: 4, beside: 2 };',
    replace: 'const CITY = { alone: 8, beside: 8 };',
    test: SCALES_SPEC,
    name: 'leaves places to others',
  },
  {
    guard: 'Who has not heard for long how many sessions are wanted asks before it decides.',
    file: SCALES,
    find: 'if (this.#isRecent(answer.heardAt, freshMs, now))',
    replace: 'if (answer.demand !== undefined)',
    test: SCALES_SPEC,
    name: 'is waited for anew',
  },
  {
    guard: 'A scale_check that could not begin does not count as none.',
    file: SCALES,
    find: 'awaitedAt === undefined ? demand : undefined',
    replace: 'awaitedAt === undefined ? demand : (demand ?? 0)',
    test: SCALES_SPEC,
    name: 'that cannot begin is not known',
  },
  {
    guard: 'A scale_check that cannot begin is waited for once, and what else is decided about its city goes on.',
    file: SCALES,
    find: "if (typeof said !== 'number') return",
    replace: "if (typeof said !== 'number') answer.awaitedAt = undefined;\n          if (typeof said !== 'number') return",
    test: SCALES_SPEC,
    name: 'that cannot begin is not known',
  },
  {
    guard: 'A scale_check that cannot begin is asked again without a look at its city.',
    file: SCALES,
    find: 'if (isWanted && !this.#stop.signal.aborted)',
    replace: 'if (!isWanted && !this.#stop.signal.aborted)',
    test: SCALES_SPEC,
    name: 'that cannot begin is not known',
  },
  {
    guard: 'A scale_check that cannot begin is not asked without end for a city that nobody looks at any more.',
    file: SCALES,
    find: 'if (isWanted && !this.#stop',
    replace: 'if (isWanted !== undefined && !this.#stop',
    test: SCALES_SPEC,
    name: 'is left alone when nobody asks',
  },
  {
    guard: 'A city is looked at again when another number of sessions is wanted.',
    file: 'src/modules/runners/pools/pools.reconciler.ts',
    find: 'await this.repository.lookAgain(streamId, 0);',
    replace: 'await Promise.resolve(streamId);',
    test: 'src/modules/runners/pools/pools.reconciler.spec.ts',
    name: 'says something new',
  },
  {
    guard: 'News of a command are not lost in a look that goes on.',
    file: 'src/modules/runners/pools/pool-state.repository.ts',
    find: 'when p.next_at::text is distinct from ${at.before}::text then',
    replace: 'when p.next_at::text is distinct from ${at.before}::text and false then',
    test: 'src/modules/runners/pools/pool-pass.db-spec.ts',
    name: 'asked for during a look',
  },
  {
    guard: 'News of a command are not lost in a look that was due.',
    file: 'src/modules/runners/pools/pool-state.repository.ts',
    find: 'case when next_at <= clock_timestamp() then clock_timestamp()',
    replace: 'case when next_at <= clock_timestamp() then next_at',
    test: 'src/modules/runners/pools/pool-pass.db-spec.ts',
    name: 'asked for during a look',
  },
];
