import type { FormulaConfig } from '../../files/composition/city-config.js';
import { describeIssue, type Issue } from '../../files/composition/issue.js';
import type { Formula, VarDef } from './compile/formula.js';
import type { Fragment, Recipe } from './compile/recipe.js';
import type {
  FormulaDetailResponse,
  FormulaPreviewEdgeResponse,
  FormulaStepResponse,
  FormulaSummaryResponse,
  FormulaVarDefResponse,
} from './formulas.schemas.js';

/** Errors of one formula that a list tells. */
const SHOWN = 20;

export function toSummary(
  entry: FormulaConfig,
  layers: Layers,
  formula: Formula | undefined,
  issues: readonly Issue[],
  runs: number,
): FormulaSummaryResponse {
  return {
    name: entry.name,
    description: formula?.catalog.description ?? formula?.description ?? '',
    ...(formula?.catalog.name === undefined ? {} : { title: formula.catalog.name }),
    var_defs: varDefs(formula),
    run_count: runs,
    // A list does not look at runs: …/formulas/{name}/runs does.
    recent_runs: [],
    ...layers,
    ...(issues.length === 0 ? {} : { errors: issues.slice(0, SHOWN).map(describeIssue) }),
  };
}

export type Layers = Pick<FormulaDetailResponse, 'source' | 'shadows'>;

/** Where a formula comes from: what a rig has of its own lies over what the city has. */
export function layersOf(entry: FormulaConfig, below: FormulaConfig | undefined): Layers {
  const layer = ({ file, pack }: { file: string; pack: string }): Layers['source'] => ({ file, pack });
  const under = below === undefined || below === entry ? [] : [layer(below), ...(below.shadows ?? []).map(layer)];
  return { source: layer(entry), shadows: [...(entry.shadows ?? []).map(layer), ...under] };
}

export function toDetail(recipe: Recipe, formula: Formula, layers: Layers): FormulaDetailResponse {
  const [root, ...rest] = recipe.steps;
  const steps: FormulaStepResponse[] = [];
  const deps: FormulaPreviewEdgeResponse[] = [];
  collect({ steps: recipe.root_only ? [] : rest, edges: recipe.edges }, undefined, steps, deps);
  return {
    name: recipe.formula,
    description: root!.description,
    ...(formula.catalog.name === undefined ? {} : { title: formula.catalog.name }),
    var_defs: varDefs(formula),
    steps,
    deps,
    preview: {
      nodes: steps.map(({ id, title, kind, metadata }) => {
        const scope_ref = metadata?.['gc.scope_ref'];
        return { id, title, kind, ...(scope_ref === undefined ? {} : { scope_ref }) };
      }),
      edges: deps,
    },
    ...layers,
    compiler: recipe.compiler === 1 ? '1' : '2',
    root_only: recipe.root_only,
    at_run: [...recipe.at_run],
    missing: [...recipe.missing],
    metadata: { ...formula.metadata },
  };
}

function collect(
  { steps, edges }: Fragment,
  repeatedBy: string | undefined,
  into: FormulaStepResponse[],
  deps: FormulaPreviewEdgeResponse[],
): void {
  for (const step of steps) {
    const { id, title, kind, type, assignee, labels, metadata, parent, control } = step;
    into.push({
      id,
      title,
      kind: metadata['gc.kind'] ?? kind,
      type,
      ...(assignee === '' ? {} : { assignee }),
      ...(labels.length === 0 ? {} : { labels: [...labels] }),
      ...(Object.keys(metadata).length === 0 ? {} : { metadata: { ...metadata } }),
      ...(parent === undefined ? {} : { parent }),
      ...(repeatedBy === undefined ? {} : { repeated_by: repeatedBy }),
    });
    if (control !== undefined && 'body' in control && control.body !== undefined) collect(control.body, id, into, deps);
  }
  for (const { from, to, kind } of edges) deps.push({ from, to, kind });
}

function varDefs(formula: Formula | undefined): FormulaVarDefResponse[] {
  const defs = [...(formula?.vars.values() ?? [])].sort((a, b) => (a.name < b.name ? -1 : 1));
  return defs.map(({ name, type, description, default: value, enum: values, pattern, required }: VarDef) => ({
    name,
    type,
    ...(description === undefined ? {} : { description }),
    ...(value === undefined ? {} : { default: value }),
    ...(values === undefined ? {} : { enum: [...values] }),
    ...(pattern === undefined ? {} : { pattern }),
    ...(required ? { required } : {}),
  }));
}
