import type { Guard } from './guard.js';

const RUNS = 'src/modules/runs';
const RACES = `${RUNS}/run-races.db-spec.ts`;
const KEEPER = `${RUNS}/run-keeper.db-spec.ts`;
const LAUNCH = `${RUNS}/launch/launch.db-spec.ts`;
const GATES = `${RUNS}/gates/gates.db-spec.ts`;

/** Formulas that are carried out. */
export const RUN_GUARDS: readonly Guard[] = [
  {
    guard: 'A bead has one live run of a formula: a repeat is answered with the first.',
    file: `${RUNS}/launch/launch.service.ts`,
    find: 'if (same !== undefined) return { run: same, created: false };',
    replace: '',
    test: RACES,
  },
  {
    guard: 'A second live run of a bead and formula cannot be written.',
    file: 'db/migrations/0039_create_runs.ts',
    find: 'create unique index runs_live_key',
    replace: 'create index runs_live_key',
    test: RACES,
  },
  {
    guard: 'A run ends once.',
    file: `${RUNS}/runs.repository.ts`,
    find: 'and r.id = ${id} and r.outcome is null returning',
    replace: 'and r.id = ${id} returning',
    test: RACES,
  },
  {
    guard: 'A run is not done while one of its steps is open.',
    file: `${RUNS}/run-keeper.ts`,
    find: 'now.root_only || now.closed < now.steps',
    replace: 'now.root_only',
    test: KEEPER,
  },
  {
    guard: 'What needs a step that has failed is skipped.',
    file: `${RUNS}/run-keeper.ts`,
    find: "if (step.metadata['gc.outcome'] === 'fail') await this.#skipBehind(work, run, step);",
    replace: '',
    test: KEEPER,
  },
  {
    guard: 'Nothing closes over a gate that is waited for.',
    file: `${RUNS}/run-keeper.ts`,
    find: 'if (run.gates > 0) continue;',
    replace: '',
    test: KEEPER,
  },
  {
    guard: 'Steps are counted where beads change.',
    file: 'db/migrations/0045_count_run_steps_together.ts',
    find: "sum(b.sign * (b.status = 'in_progress')::integer)::integer as active,",
    replace: '0 as active,',
    test: KEEPER,
  },
  {
    guard: 'A graph without its input is not launched.',
    file: `${RUNS}/launch/launch-plan.ts`,
    find: 'if (known === undefined && recipe.at_run.includes(name)) throw unknown(name, recipe.formula);',
    replace: '',
    test: LAUNCH,
  },
  {
    guard: 'A part holds its whole up: nobody is offered what only others make.',
    file: `${RUNS}/launch/launch-plan.ts`,
    find: "if (parent !== undefined && parent !== root!.id) put(id, parent, 'blocks');",
    replace: '',
    test: LAUNCH,
  },
  {
    guard: 'The time of a gate begins when it is reached.',
    file: 'db/migrations/0040_create_run_controls.ts',
    find: 'and c.bead_id = new.id and c.gate is not null;',
    replace: 'and false;',
    test: GATES,
  },
];
