import { z } from 'zod';
import { boundedMap } from '../../../contract/bounded-map.js';
import { contract, demanded } from '../../../contract/registry.js';
import { queryInt, queryText } from '../../../contract/query.js';
import { int64, text } from '../../../contract/scalars.js';
import { LIMITS } from './compile/limits.js';

export const FormulaNameParam = z.string().min(1).max(200).describe('The name of the formula.');

/** The values that a formula is given. How long they may be says the compiler. */
export const formulaVars = boundedMap(z.record(text.max(LIMITS.id), text), LIMITS.vars, `must not have more than ${LIMITS.vars} members`);

/** Which city or rig a formula is asked for. */
export const SCOPE = {
  scope_kind: demanded(queryText().describe('`city` or `rig`')),
  scope_ref: demanded(queryText().describe('The name of the city, or of the rig.')),
};
export const FormulasQuery = z.strictObject({ ...SCOPE, limit: queryInt({ min: 1, max: 500, default: 100 }), cursor: queryText() });
export type FormulasQuery = z.infer<typeof FormulasQuery>;
export const FormulaQuery = z.strictObject({ ...SCOPE, target: z.string().min(1).max(300).describe('An agent, or a bead.') });
export type FormulaQuery = z.infer<typeof FormulaQuery>;

export const FormulaPreviewBody = contract(
  'FormulaPreviewBody',
  z.strictObject({
    scope_kind: demanded(text.optional()),
    scope_ref: demanded(text.optional()),
    target: text.min(1).max(300).describe('An agent, or a bead.'),
    vars: formulaVars.optional(),
  }),
  'For whom and with which values a formula is looked at.',
);
export type FormulaPreviewBody = z.infer<typeof FormulaPreviewBody>;

/** The file as it is sent. */
export const FormulaBody = z.string().meta({ format: 'binary', contentMediaType: 'application/octet-stream' });

export const FormulaVarDefResponse = contract(
  'FormulaVarDefResponse',
  z.strictObject({
    name: z.string().describe('The name of the variable, unique in the formula.'),
    type: z.string().describe('`string`, `int` or `bool`.'),
    description: z.string().optional(),
    default: z.unknown().optional().describe('What counts when no value is given. Absent: there is none.'),
    enum: z.array(z.string()).optional().describe('The values that it may have. Absent: any.'),
    pattern: z.string().optional().describe('The regular expression that a value has to match.'),
    required: z.boolean().optional().describe('True when a run needs a value for it.'),
  }),
  'A variable of a formula.',
);
export type FormulaVarDefResponse = z.infer<typeof FormulaVarDefResponse>;

export const FormulaLayer = contract(
  'FormulaLayer',
  z.strictObject({ file: z.string(), pack: z.string().describe('The pack that has the file. Empty: the city’s own.') }),
  'A file of a formula: `pack` is empty for the city’s own.',
);

export const FormulaRecentRunResponse = contract(
  'FormulaRecentRunResponse',
  z.strictObject({
    workflow_id: z.string(),
    status: z.string().describe('How far the run is: a status of runs.'),
    target: z.string(),
    started_at: z.string(),
    updated_at: z.string(),
  }),
  'A run of a formula.',
);

export type FormulaRecentRunResponse = z.infer<typeof FormulaRecentRunResponse>;

const ORIGIN = {
  source: FormulaLayer.describe('The file that counts.'),

  shadows: z.array(FormulaLayer).describe('Files of the same name that do not count, the strongest first.'),
};

export const FormulaSummaryResponse = contract(
  'FormulaSummaryResponse',
  z.strictObject({
    name: z.string(),
    description: z.string(),
    title: z.string().optional(),
    var_defs: z.array(FormulaVarDefResponse),
    run_count: int64,
    recent_runs: z.array(FormulaRecentRunResponse),
    ...ORIGIN,
    errors: z.array(z.string()).optional(),
  }),
  'A formula that a scope has. `errors` says why it cannot be used: file, line, key and what is wrong.',
);
export type FormulaSummaryResponse = z.infer<typeof FormulaSummaryResponse>;

export const FormulaListBody = contract(
  'FormulaListBody',
  z.strictObject({
    items: z.array(FormulaSummaryResponse),
    total: int64,
    partial: z.boolean().describe('True when one of the items cannot be used.'),
    next_cursor: z.string().optional(),
  }),
  '`partial` says that one of the items cannot be used.',
);
export type FormulaListBody = z.infer<typeof FormulaListBody>;

export const FormulaStepResponse = contract(
  'FormulaStepResponse',
  z.strictObject({
    id: z.string().describe('The id of the step in the formula.'),
    title: z.string(),
    kind: z.string().describe('What the step is: `task`, or what the service does with it, such as `retry`, `loop` or `drain`.'),
    type: z.string().optional().describe('The kind of the bead that it becomes.'),
    assignee: z.string().optional(),
    labels: z.array(z.string()).optional(),
    metadata: z.record(z.string(), z.string()).optional(),
    parent: z.string().optional().describe('The step that it is part of.'),

    repeated_by: z.string().optional().describe('Of a step that a run repeats: the one that says how often.'),
  }),
  'A step of a formula.',
);
export type FormulaStepResponse = z.infer<typeof FormulaStepResponse>;

export const FormulaPreviewEdgeResponse = contract(
  'FormulaPreviewEdgeResponse',
  z.strictObject({
    from: z.string().describe('The step that comes first.'),
    to: z.string().describe('The step that waits for it.'),
    kind: z.string().optional().describe('The type of the edge, such as `blocks`.'),
  }),
  '`to` waits for `from`.',
);
export type FormulaPreviewEdgeResponse = z.infer<typeof FormulaPreviewEdgeResponse>;

export const FormulaPreviewNodeResponse = contract(
  'FormulaPreviewNodeResponse',
  z.strictObject({
    id: z.string().describe('The id of the step, unique in the formula.'),
    title: z.string(),
    kind: z.string().describe('What the step is: `task`, or what the service does with it, such as `retry`, `loop` or `drain`.'),
    scope_ref: z.string().optional().describe('The step in whose scope it is.'),
  }),
  'A step of the graph that a formula becomes.',
);

export const FormulaPreviewResponse = contract(
  'FormulaPreviewResponse',
  z.strictObject({
    nodes: z.array(FormulaPreviewNodeResponse).describe('The steps.'),
    edges: z.array(FormulaPreviewEdgeResponse).describe('What waits for what.'),
  }),
  'The graph that a formula becomes.',
);

export const FormulaDetailResponse = contract(
  'FormulaDetailResponse',
  z.strictObject({
    name: z.string(),
    description: z.string(),
    title: z.string().optional(),
    var_defs: z.array(FormulaVarDefResponse),
    steps: z.array(FormulaStepResponse),
    deps: z.array(FormulaPreviewEdgeResponse).describe('What waits for what.'),
    preview: FormulaPreviewResponse.describe('The graph that it becomes.'),
    ...ORIGIN,
    compiler: z.enum(['1', '2']),
    root_only: z.boolean().describe('True when it becomes one bead and no steps.'),
    at_run: z.array(z.string()).describe('Names of variables whose values the run gives.'),
    missing: z.array(z.string()).describe('Required variables that have no value yet.'),
    metadata: z.record(z.string(), z.unknown()).describe('What the file says under `metadata`.'),
  }),
  'What a formula becomes: nothing of it is stored. `at_run` are names whose values the run gives, `missing` required variables that have none yet.',
);
export type FormulaDetailResponse = z.infer<typeof FormulaDetailResponse>;

export const FormulaSourceOutputBody = contract(
  'FormulaSourceOutputBody',
  z.strictObject({ name: z.string(), source: z.string().describe('The text of the file.') }),
  'A file of a formula.',
);
export type FormulaSourceOutputBody = z.infer<typeof FormulaSourceOutputBody>;

export const FormulaValidateOutputBody = contract(
  'FormulaValidateOutputBody',
  z.strictObject({ valid: z.boolean(), errors: z.array(z.string()).optional() }),
  'Whether a formula can be used.',
);
export type FormulaValidateOutputBody = z.infer<typeof FormulaValidateOutputBody>;
