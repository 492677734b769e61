import type { Guard } from './guard.js';

const DRAINS = 'src/modules/orchestration/runs/drains/drains.db-spec.ts';
const HOLDS = 'src/modules/orchestration/runs/drains/drain-holds.db-spec.ts';
const CORPUS = 'src/modules/orchestration/formulas/compile/corpus.spec.ts';
const MODEL = 'src/modules/orchestration/runs/control/advance.model.spec.ts';

/** Convoys that are drained by runs. */
export const DRAIN_GUARDS: readonly Guard[] = [
  {
    guard: 'A drain in the item formula of a drain is refused.',
    file: 'src/modules/orchestration/formulas/compile/compile.ts',
    find: 'isItem\n      ? noDrain(step, issues)',
    replace: 'isItem && issues.any\n      ? noDrain(step, issues)',
    test: CORPUS,
  },
  {
    guard: 'An item formula that asks for a value which nobody has is refused with the drain.',
    file: 'src/modules/orchestration/formulas/compile/drains.ts',
    find: 'if (!missing.has(name))',
    replace: 'if (missing.has(name))',
    test: CORPUS,
  },
  {
    guard: 'A single lane is one.',
    file: 'src/modules/orchestration/formulas/compile/drains.ts',
    find: "if (drain!.context === 'shared')",
    replace: "if (drain!.context !== 'shared')",
    test: CORPUS,
  },
  {
    guard: 'A unit ends once.',
    file: 'src/modules/orchestration/runs/control/advance.ts',
    find: 'if (unit.outcome === undefined && !this.#settled',
    replace: 'if (!this.#settled',
    test: MODEL,
  },
  {
    guard: 'In a lane nothing is done after a unit that failed, not even what cleans up.',
    file: 'src/modules/orchestration/runs/control/advance.ts',
    find: 'if (before) for (const each of made) this.#skip(each, PREVIOUS);',
    replace: '',
    test: MODEL,
  },
  {
    guard: 'A drain takes its members once.',
    file: 'src/modules/orchestration/runs/control/control.repository.ts',
    find: '...(units?.has(bead) === true ? { units: units.get(bead)! } : {}),',
    replace: '',
    test: DRAINS,
  },
  {
    guard: 'A drain takes no waits for members.',
    file: 'src/modules/orchestration/runs/drains/drains.service.ts',
    find: 'if (wait !== undefined) return over(',
    replace: "if (wait?.id === '') return over(",
    test: DRAINS,
    name: 'takes no wait for a member',
  },
  {
    guard: 'A drain takes no more members than it may.',
    file: 'src/modules/orchestration/runs/drains/drains.service.ts',
    find: 'if (ids.length > max) return',
    replace: 'if (ids.length < 0) return',
    test: DRAINS,
  },
  {
    guard: 'All that units are made of counts before they are made.',
    file: 'src/modules/orchestration/formulas/compile/fragments.ts',
    find: '...Object.entries(metadata).flat()];',
    replace: '...Object.keys({ metadata }).slice(1)];',
    test: 'src/modules/orchestration/runs/control/advance.spec.ts',
    name: 'units are begun only when',
  },
  {
    guard: 'All rounds of a run have a limit in characters together.',
    file: 'src/modules/orchestration/runs/control/advance.ts',
    find: 'this.#characters -= length;',
    replace: '',
    test: 'src/modules/orchestration/runs/control/advance.spec.ts',
    name: 'no more characters than it may have, whatever begins at once',
  },
  {
    guard: 'What steps have handed on is read only where it may decide something.',
    file: 'src/modules/orchestration/runs/control/control.repository.ts',
    find: 'this.#outputs(tx, streamId, askedFor(rows));',
    replace: 'this.#outputs(tx, streamId, [...askedFor(rows), ...rows.map(({ bead }) => bead)]);',
    test: 'src/modules/orchestration/runs/control/run-control.db-spec.ts',
    name: 'reads of what steps have handed on',
  },
  {
    guard: 'A drain has for itself nothing that another run works on.',
    file: 'src/modules/orchestration/runs/drains/drains.service.ts',
    find: 'return taken && `${taken.member} is worked on by run ${taken.run}`;',
    replace: 'return undefined;',
    test: HOLDS,
  },
  {
    guard: 'No run is launched for what a drain has for itself.',
    file: 'src/modules/orchestration/runs/runs.repository.ts',
    find: 'and u.member_id = ${source} and u.held)',
    replace: 'and false)',
    test: HOLDS,
  },
  {
    guard: 'What a drain has for itself is nobody offered.',
    file: 'src/modules/orchestration/runs/drains/drains.service.ts',
    find: 'if (held) await work.relabelAll(ids, holdBy(drain), true);',
    replace: '',
    test: HOLDS,
  },
  {
    guard: 'What a drain holds is let go with its run.',
    file: 'src/modules/orchestration/runs/drains/drains.service.ts',
    find: 'this.end(work, { run: id }, outcome',
    replace: "this.end(work, { run: '' }, outcome",
    test: HOLDS,
  },
  {
    guard: 'What a drain holds is let go when its bead, or that of its run, is removed.',
    file: 'src/modules/orchestration/runs/run-keeper.ts',
    find: 'await this.control.letGo(work, removed);',
    replace: '',
    test: HOLDS,
  },
  {
    guard: 'What a drain holds is let go when it ends otherwise than by its units.',
    file: 'src/modules/orchestration/runs/control/run-control.ts',
    find: 'if (steps.some((each) => each.step.id === step && each.units !== undefined))',
    replace: 'if (steps.length < 0)',
    test: DRAINS,
  },
  {
    guard: 'What a drain holds is let go with its scope.',
    file: 'src/modules/orchestration/runs/control/run-control.ts',
    find: "if (ids.includes(drain)) await this.drains.end(work, { drain }, 'skipped', reason);",
    replace: 'void drain;',
    test: HOLDS,
  },
  {
    guard: 'A drain without a convoy is refused before anything is written.',
    file: 'src/modules/orchestration/runs/launch/launch-plan.ts',
    find: "if (convoy === undefined) throw unknown('convoy_id', recipe.formula);",
    replace: '',
    test: DRAINS,
  },
  {
    guard: 'What a unit is for is never what the run is for.',
    file: 'src/modules/orchestration/runs/launch/launch-plan.ts',
    find: "control.kind === 'drain' ? control : deep(control, text)",
    replace: 'deep(control, text)',
    test: DRAINS,
  },
];
