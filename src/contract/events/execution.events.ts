import { defineEvent, NoPayload } from './define.js';

/** The facts of these kinds are in the envelope: `run_id`, `session_id`, `step_id` and `depends_on_step_ids`. */
export const ExecutionWorkAssociated = defineEvent('execution.work_associated', 1, NoPayload, 'A session works on a step of a run.');
export const ExecutionStepDefined = defineEvent(
  'execution.step_defined',
  1,
  NoPayload,
  'A run has a step; the envelope names those that it depends on.',
);
export const ExecutionStepStarted = defineEvent('execution.step_started', 1, NoPayload, 'A step of a run was begun.');
export const ExecutionStepCompleted = defineEvent('execution.step_completed', 1, NoPayload, 'A step of a run has ended.');
