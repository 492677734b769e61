import type { Guard } from './guard.js';

const THREAD = 'src/platform/threads/thread.ts';
const BUDGET = 'src/platform/turns/budget.ts';
const THREADS_SPEC = 'src/platform/threads/threads.spec.ts';
const BUDGET_SPEC = 'src/platform/turns/budget.spec.ts';
const COMPOSER = 'src/modules/configuration/config/city-composer.ts';
const COMPOSER_SPEC = 'src/modules/configuration/config/city-composer.spec.ts';
const TOML_WORK = 'src/modules/configuration/config/toml-work.ts';
const TOML_WORK_SPEC = 'src/modules/configuration/config/toml-work.spec.ts';

/** What keeps long work off the event loop, and within limits. */
export const THREADS: readonly Guard[] = [
  {
    guard: 'A thread that works for too long is ended.',
    file: THREAD,
    find: 'this.#busy() - busyBefore > busyMs',
    replace: 'this.#busy() - busyBefore > 1e9 * busyMs',
    test: COMPOSER_SPEC,
    name: 'too much time',
  },
  {
    guard: 'A thread that nobody needs any more is ended.',
    file: 'src/platform/threads/threads.ts',
    find: '    }, this.options.idleMs).unref();',
    replace: '    }, 2 ** 31 - 1).unref();',
    test: THREADS_SPEC,
    name: 'when nobody needs them',
  },
  {
    guard: 'A thread that holds too much is ended.',
    file: THREAD,
    find: '      resourceLimits: { maxOldGenerationSizeMb: limits.heapMiB, maxYoungGenerationSizeMb: YOUNG_MIB },\n',
    replace: '',
    test: COMPOSER_SPEC,
    name: 'too much memory',
  },
  {
    guard: 'A thread knows nothing of the environment.',
    file: THREAD,
    find: '      env: {},\n',
    replace: '',
    test: THREADS_SPEC,
    name: 'see nothing',
  },
  {
    guard: 'A thread that could not be started keeps no place.',
    file: 'src/platform/threads/threads.ts',
    find: '    let thread: Thread | undefined;\n    try {\n      thread = this.#take();\n',
    replace: '    const thread: Thread | undefined = this.#take();\n    try {\n',
    test: THREADS_SPEC,
    name: 'keep no place',
  },
  {
    guard: 'An owner has one thread at a time: another one is left for others.',
    file: BUDGET,
    find: 'this.#held.has(owner) || ',
    replace: '',
    test: BUDGET_SPEC,
  },
  {
    guard: 'Owners take turns, however much one of them has waiting.',
    file: BUDGET,
    find: '      this.#waiting.delete(owner);\n      if (line.length > 0) this.#waiting.set(owner, line);\n',
    replace: '      if (line.length === 0) this.#waiting.delete(owner);\n',
    test: BUDGET_SPEC,
  },
  {
    guard: 'Only so much of one owner may wait for a thread.',
    file: BUDGET,
    find: "    if (line.length >= this.most) throw new NoTurn('too much of it waits already');\n",
    replace: '',
    test: BUDGET_SPEC,
  },
  {
    guard: 'Who wants much of a budget is not overtaken by those who want less.',
    file: BUDGET,
    find: 'if (amount > this.#left) return;',
    replace: 'if (amount > this.#left) continue;',
    test: BUDGET_SPEC,
  },
  {
    guard: 'What is given back of a budget counts once.',
    file: BUDGET,
    find: '        if (isOver) return;\n',
    replace: '',
    test: BUDGET_SPEC,
  },
  {
    guard: 'Large results of composing are held one after the other.',
    file: COMPOSER,
    find: 'await this.threads.hold(name, known ?? LIMITS.result)',
    replace: 'await this.threads.hold(`${name}${Math.random()}`, 0)',
    test: COMPOSER_SPEC,
    name: 'one large result',
  },
  {
    guard: 'What a failed use of a large result has held is given back.',
    file: COMPOSER,
    find: '      holding.share?.giveBack();\n    }\n',
    replace: '    }\n',
    test: COMPOSER_SPEC,
    name: 'failed use',
  },
  {
    guard: 'Only small cities are composed on the event loop.',
    file: COMPOSER,
    find: 'cityName, small: true }',
    replace: 'cityName }',
    test: COMPOSER_SPEC,
    name: 'loop go on',
  },
  {
    guard: 'A city that is too much for a thread is an error of its files.',
    file: COMPOSER,
    find: "      if (error instanceof TooDear) return found(refused({ file: 'city.toml', message: `composing the city ${error.message}` }));\n",
    replace: '',
    test: COMPOSER_SPEC,
    name: 'too much time',
  },
  {
    guard: 'Long files are edited off the event loop.',
    file: TOML_WORK,
    find: 'if (text.length + sizeOf(document, INLINE_COST) <= INLINE_COST)',
    replace: 'if (text.length + sizeOf(document, INLINE_COST) > 0)',
    test: TOML_WORK_SPEC,
  },
  {
    guard: 'What a thread has read counts where it is read, whatever the thread tells.',
    file: 'src/modules/files/composition/trees/remote.ts',
    find: '        left.bytes -= text?.length ?? 0;\n',
    replace: '',
    test: 'src/modules/files/composition/trees/remote.spec.ts',
  },
];
