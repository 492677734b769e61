import { z } from 'zod';
import { Bead } from '../../../contract/beads.schemas.js';
import { queryEnum, queryInt, queryText } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { dateTime, int64, text } from '../../../contract/scalars.js';
import { WorkflowDepResponse } from '../../../contract/workflows.schemas.js';

export const BeadIdParam = text.min(1).max(255).describe('The id of the bead.');

/** Types of edges between beads; `tracks`, the membership of a convoy, is the convoys' own. */
export const EDGE_TYPES = [
  'blocks',
  'waits-for',
  'conditional-blocks',
  'parent-child',
  'related',
  'relates-to',
  'discovered-from',
] as const;

export const DependencyAddInputBody = contract(
  'DependencyAddInputBody',
  z.strictObject({
    depends_on_id: text.min(1).max(255).meta({ description: 'What the bead of the path depends on.' }),
    type: z
      .enum(EDGE_TYPES, `must be one of ${EDGE_TYPES.join(', ')}; members of a convoy (tracks) change through its add and remove`)
      .default('blocks')
      .meta({ description: '`blocks`, `waits-for` and `conditional-blocks` keep the bead from being ready until the other is closed.' }),
  }),
  'A new edge.',
);
export type DependencyAddInput = z.infer<typeof DependencyAddInputBody>;

export const BeadDependency = contract(
  'BeadDependency',
  z.strictObject({
    issue_id: z.string(),
    depends_on_id: z.string(),
    type: z.string().describe('The type of the edge, such as `blocks`.'),
    blocking: z.boolean().meta({ description: 'Whether edges of this type keep `issue_id` from being ready.' }),
    satisfied: z.boolean().meta({ description: 'False while a blocking edge waits for `depends_on_id` to be closed.' }),
    status: z.string().meta({ description: 'Of the bead at the other end.' }),
    title: z.string().meta({ description: 'Of the bead at the other end.' }),
  }),
  'An edge, and the bead at its other end.',
);
export type BeadDependency = z.infer<typeof BeadDependency>;

export const BeadFanOut = contract(
  'BeadFanOut',
  z.strictObject({
    told: int64.describe('How many of the edges to the bead were looked at.'),
    changed: int64.describe('How many beads count it differently since.'),
    begun_at: dateTime.describe('When the bead was closed, or opened again.'),
  }),
  'There while those that depend on the bead are being told, some at a time, that it was closed or opened again; `bead.dependents_updated` ends it.',
);
export type BeadFanOut = z.infer<typeof BeadFanOut>;

export const BeadDependenciesBody = contract(
  'BeadDependenciesBody',
  z.strictObject({
    items: z.array(BeadDependency).nullable().describe('The edges of this page. Null is the same as none.'),
    blocked_by: z
      .array(z.string())
      .nullable()
      .meta({ description: 'The beads that keep this one from being ready, whatever the page shows.' }),
    settling: z.array(z.string()).optional().meta({
      description:
        'What it depends on that was closed, or opened again, so lately that a fan-out has not come to this bead: until then its `is_blocked` is as before. Absent: nothing.',
    }),
    fan_out: BeadFanOut.optional(),
    total: int64,
    next_cursor: z.string().optional(),
  }),
  'A page of edges of a bead.',
);
export type BeadDependenciesBody = z.infer<typeof BeadDependenciesBody>;

export const DependenciesQuery = z.strictObject({
  direction: queryEnum(['down', 'up', 'both']).describe(
    '`down` (the default): what the bead depends on; `up`: what depends on it; `both`.',
  ),
  limit: queryInt({ min: 0, max: 1000, default: 100 }),
  cursor: queryText(),
});
export type DependenciesQuery = z.infer<typeof DependenciesQuery>;

export const BeadGraphResponse = contract(
  'BeadGraphResponse',
  z.strictObject({
    root: Bead,
    beads: z.array(Bead).nullable(),
    deps: z.array(WorkflowDepResponse).nullable(),
    membership: z
      .enum(['direct-root-id+parent-closure', 'direct-root-id+parent-closure+convoy-members'])
      .describe('By what beads belong to the graph: the root’s id on them, being below one of them, and with a convoy its members too.'),
  }),
  'A bead with everything that belongs to it.',
);

export const NeighborhoodQuery = z.strictObject({
  depth: queryInt({ min: 1, max: 5, default: 2 }).describe('How many edges away a bead may be.'),
  limit: queryInt({ min: 1, max: 1000, default: 200 }),
});
export type NeighborhoodQuery = z.infer<typeof NeighborhoodQuery>;

export const BeadNeighborhoodResponse = contract(
  'BeadNeighborhoodResponse',
  z.strictObject({
    beads: z.array(Bead).describe('Summaries: the bead itself, then the others, the nearest first.'),
    deps: z.array(WorkflowDepResponse).describe('The edges among them.'),
    partial: z.boolean().describe('True when there are more than `limit`, or than fit into 2 MiB.'),
  }),
  'A bead with what is around it.',
);
