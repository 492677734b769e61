import { ExecutionStepDefined } from '../../../../contract/events/execution.events.js';
import { event } from '../../../../platform/event-log/event.js';
import type { Tells } from '../../../work/work/ahead.js';

/** What the steps among the beads of a run wait for among each other. */
export const tellSteps: Tells = (made, facts) => {
  const steps = made.filter(({ id, run_id: run }) => id !== run);
  const refs = new Map(steps.map(({ id, ref }) => [id, ref!]));
  return steps.map((step) => {
    const needs = (step.snapshot.needs ?? []).flatMap((id) => refs.get(id) ?? []);
    return event(ExecutionStepDefined, { ...facts(step), depends_on_step_ids: needs, payload: {} });
  });
};
