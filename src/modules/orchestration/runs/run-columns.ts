import { sql } from 'kysely';

/** The columns of `RunRow`, of `runs r`. */
export const RUN = sql`r.id, r.formula, r.formula_sha256, r.compiler, r.root_only, r.launched_by, r.title, r.rig, r.target, r.source_id, r.convoy_id,
  r.vars, r.asked_by, r.steps, r.active, r.closed, r.gates, r.outcome, r.error_code, r.error_message, r.started_at, r.updated_at, r.finished_at, r.status`;
