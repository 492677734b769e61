import { z } from 'zod';
import { queryInt, queryText } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { int64, text } from '../../../contract/scalars.js';
import { DRIFT_STEPS } from '../launch/drift.js';

export const SessionDrift = contract(
  'SessionDrift',
  z.strictObject({
    session_id: z.string(),
    title: z.string(),
    template: z.string(),
    alias: z.string().optional().describe('Its alias.'),
    state: z.string(),
    activity: z.enum(['idle', 'in-turn']),
    started_at: z.string().optional().meta({ description: 'Since when its process is ready.' }),
    differs: z.array(z.string()).meta({
      description:
        'Names of the parts that are another by now: `command`, `args`, `work_dir`, `env.NAME`, `options.KEY` …; never values. `template` where ' +
        'its configured name stands for another agent. Empty where the start has noted the whole only.',
    }),
    next: z.enum(DRIFT_STEPS).meta({
      description:
        'What comes of it: `restart_now` at the next look, `restart_after_turn`, `restart_after_answer` (it asks a person something), ' +
        '`restart_after_resume` (suspended), `restarting`, `stopping` for another reason, `accepted`, or `kept` (`auto_restart_on_drift` is off).',
    }),
  }),
  'A session whose process was started with an older configuration.',
);
export type SessionDrift = z.infer<typeof SessionDrift>;

export const ListBodySessionDrift = contract(
  'ListBodySessionDrift',
  z.strictObject({ items: z.array(SessionDrift), total: int64, next_cursor: z.string().optional() }),
  'A page of sessions that run with an older configuration.',
);
export type ListBodySessionDrift = z.infer<typeof ListBodySessionDrift>;

export const SessionDriftAcceptedBody = contract(
  'SessionDriftAcceptedBody',
  z.strictObject({
    status: z.string().describe('Always `ok`.'),
    id: z.string().describe('The id of the session.'),
    accepted: z.boolean(),
    differs: z.array(z.string()).describe('Names of the parts in which it is another.'),
  }),
  '`accepted` is false for a session that runs what the configuration says anyway.',
);
export type SessionDriftAcceptedBody = z.infer<typeof SessionDriftAcceptedBody>;

export const DriftAcceptInputBody = contract(
  'DriftAcceptInputBody',
  z.strictObject({ agent: text.min(1).max(512).meta({ description: 'The qualified name, or a bare one that only one agent has.' }) }),
  'The agent whose sessions go on as they are.',
);
export type DriftAcceptInput = z.infer<typeof DriftAcceptInputBody>;

export const DriftAcceptedBody = contract(
  'DriftAcceptedBody',
  z.strictObject({
    agent: z.string(),
    accepted: z.array(z.string()).meta({ description: 'Ids of the sessions that go on as they are.' }),
    skipped: z
      .array(z.strictObject({ id: z.string(), reason: z.string() }))
      .meta({ description: 'Those of which it is too late: they are being stopped.' }),
  }),
  'Which sessions go on as they are.',
);
export type DriftAcceptedBody = z.infer<typeof DriftAcceptedBody>;

export const DriftQuery = z.strictObject({
  template: queryText(),
  limit: queryInt({ min: 0, max: 1000, default: 100 }),
  cursor: queryText(),
});
export type DriftQuery = z.infer<typeof DriftQuery>;
