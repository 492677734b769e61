import { z } from 'zod';
import { contract } from '../../../contract/registry.js';
import { queryInt, queryText } from '../../../contract/query.js';
import { int64, text } from '../../../contract/scalars.js';

export const FormulaNameParam = z.string().min(1).max(200);

const SCOPE = {
  scope_kind: queryText().describe('`city` or `rig`'),
  scope_ref: queryText().describe('The name of the city, or of the rig.'),
};
export const FormulaScopeQuery = z.strictObject(SCOPE);
export const FormulasQuery = z.strictObject({ ...SCOPE, limit: queryInt({ min: 1, max: 500, default: 100 }), cursor: queryText() });
export type FormulasQuery = z.infer<typeof FormulasQuery>;
export const FormulaQuery = z.strictObject({ ...SCOPE, target: z.string().min(1).max(300).describe('An agent, or a bead.') });
export type FormulaQuery = z.infer<typeof FormulaQuery>;

export const FormulaPreviewBody = contract(
  'FormulaPreviewBody',
  z.strictObject({
    scope_kind: text.optional(),
    scope_ref: text.optional(),
    target: text.min(1).max(300),
    vars: z.record(text.max(128), text).optional(),
  }),
);
export type FormulaPreviewBody = z.infer<typeof FormulaPreviewBody>;

/** The file as it is sent. */
export const FormulaBody = z.string().meta({ format: 'binary', contentMediaType: 'application/octet-stream' });

export const FormulaVarDefResponse = contract(
  'FormulaVarDefResponse',
  z.strictObject({
    name: z.string(),
    type: z.string(),
    description: z.string().optional(),
    default: z.unknown().optional(),
    enum: z.array(z.string()).optional(),
    pattern: z.string().optional(),
    required: z.boolean().optional(),
  }),
);
export type FormulaVarDefResponse = z.infer<typeof FormulaVarDefResponse>;

export const FormulaLayer = contract(
  'FormulaLayer',
  z.strictObject({ file: z.string(), pack: z.string() }),
  'A file of a formula: `pack` is empty for the city’s own.',
);

export const FormulaRecentRunResponse = contract(
  'FormulaRecentRunResponse',
  z.strictObject({
    workflow_id: z.string(),
    status: z.string(),
    target: z.string(),
    started_at: z.string(),
    updated_at: z.string(),
  }),
);

export type FormulaRecentRunResponse = z.infer<typeof FormulaRecentRunResponse>;

const ORIGIN = {
  /** The file that counts. */
  source: FormulaLayer,
  /** Files of the same name that do not, the strongest first. */
  shadows: z.array(FormulaLayer),
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
  z.strictObject({ items: z.array(FormulaSummaryResponse), total: int64, partial: z.boolean(), next_cursor: z.string().optional() }),
  '`partial` says that one of the items cannot be used.',
);
export type FormulaListBody = z.infer<typeof FormulaListBody>;

export const FormulaStepResponse = contract(
  'FormulaStepResponse',
  z.strictObject({
    id: z.string(),
    title: z.string(),
    kind: z.string(),
    type: z.string().optional(),
    assignee: z.string().optional(),
    labels: z.array(z.string()).optional(),
    metadata: z.record(z.string(), z.string()).optional(),
    parent: z.string().optional(),
    /** Of a step that a run repeats: the one that says how often. */
    repeated_by: z.string().optional(),
  }),
);
export type FormulaStepResponse = z.infer<typeof FormulaStepResponse>;

export const FormulaPreviewEdgeResponse = contract(
  'FormulaPreviewEdgeResponse',
  z.strictObject({ from: z.string(), to: z.string(), kind: z.string().optional() }),
  '`to` waits for `from`.',
);
export type FormulaPreviewEdgeResponse = z.infer<typeof FormulaPreviewEdgeResponse>;

export const FormulaPreviewNodeResponse = contract(
  'FormulaPreviewNodeResponse',
  z.strictObject({ id: z.string(), title: z.string(), kind: z.string(), scope_ref: z.string().optional() }),
);

export const FormulaPreviewResponse = contract(
  'FormulaPreviewResponse',
  z.strictObject({ nodes: z.array(FormulaPreviewNodeResponse), edges: z.array(FormulaPreviewEdgeResponse) }),
);

export const FormulaDetailResponse = contract(
  'FormulaDetailResponse',
  z.strictObject({
    name: z.string(),
    description: z.string(),
    title: z.string().optional(),
    var_defs: z.array(FormulaVarDefResponse),
    steps: z.array(FormulaStepResponse),
    deps: z.array(FormulaPreviewEdgeResponse),
    preview: FormulaPreviewResponse,
    ...ORIGIN,
    compiler: z.enum(['1', '2']),
    root_only: z.boolean(),
    at_run: z.array(z.string()),
    missing: z.array(z.string()),
    metadata: z.record(z.string(), z.unknown()),
  }),
  'What a formula becomes: nothing of it is stored. `at_run` are names whose values the run gives, `missing` required variables that have none yet.',
);
export type FormulaDetailResponse = z.infer<typeof FormulaDetailResponse>;

export const FormulaSourceOutputBody = contract('FormulaSourceOutputBody', z.strictObject({ name: z.string(), source: z.string() }));
export type FormulaSourceOutputBody = z.infer<typeof FormulaSourceOutputBody>;

export const FormulaValidateOutputBody = contract(
  'FormulaValidateOutputBody',
  z.strictObject({ valid: z.boolean(), errors: z.array(z.string()).optional() }),
);
export type FormulaValidateOutputBody = z.infer<typeof FormulaValidateOutputBody>;
