import { describe, expect, it } from '@jest/globals';
import { recipeOf } from '../testing/launches.js';
import { planOf, type Plan } from './launch-plan.js';

const HEAD = 'formula = "f"\nvars = { who = "" }\n[requires]\nformula_compiler = ">=2.0.0"\n[[steps]]\nid = "a"\ntitle = "A"\n';
const CHECK = 'check = { max_attempts = 2, check = { mode = "exec", path = "c.sh" } }\n';
const OTHERS = {
  each: 'formula = "each"\ntype = "expansion"\n[[template]]\nid = "{target}.x"\ntitle = "X"\n',
  own: 'formula = "own"\ntype = "expansion"\n[[template]]\nid = "{target}.x"\ntitle = "X"\nassignee = "{item}"\n',
  unit: 'formula = "unit"\n[requires]\nformula_compiler = ">=2.0.0"\n[[steps]]\nid = "u"\ntitle = "U"\n',
};
const EMPTY = 'metadata = { "gc.run_target" = "{{who}}" }\n';
const ROUTED = 'metadata = { "gc.run_target" = "polecat" }\n';

function planned(keys: string, target?: string): Plan {
  const recipe = recipeOf(`${HEAD}${keys}`, {}, OTHERS);
  return planOf({
    recipe,
    target,
    ids: recipe.steps.map((_, n) => `al-${n}`),
    ...{ rig: '', title: undefined, priority: undefined, convoy: 'al-99', attached: false },
    ...{ labels: [], metadata: {}, given: new Map(), names: new Map() },
  });
}

describe('a graph that is launched for nobody', () => {
  it.each([
    ['a step', '', 'f.a'],
    ['a step for nobody', EMPTY, 'f.a'],
    ['attempts', 'retry = { max_attempts = 2 }\n', 'f.a'],
    ['attempts for nobody', `${EMPTY}retry = { max_attempts = 2 }\n`, 'f.a'],
    ['rounds of a check', CHECK, 'f.a'],
    ['children of rounds', `${ROUTED}${CHECK}[[steps.children]]\nid = "c"\ntitle = "C"\n`, 'f.a.iteration.{iteration}.c'],
    [
      'rounds of a loop',
      `loop = { until = "step.status == completed", max = 2, body = [{ id = "b", title = "B" }] }\n`,
      'f.a.iter{iteration}.b',
    ],
    ['items', `${ROUTED}on_complete = { for_each = "output.x", bond = "each" }\n`, 'f.a.item.{index}.x'],
    ['units', 'drain = { formula = "unit" }\n', 'f.a.unit.{unit}.u'],
  ])('is refused for %s', (_, keys, step) => {
    expect(() => planned(keys)).toThrow(`invalid: step ${step} has no routing target`);
    expect(planned(keys, 'mayor').beads.length).toBeGreaterThan(1);
  });

  it('goes to its target where its own is empty', () => {
    expect(planned(EMPTY, 'mayor').beads[1]!.metadata).toMatchObject({ 'gc.routed_to': 'mayor' });
  });

  it.each([
    ['attempts', `${ROUTED}retry = { max_attempts = 2 }\n`],
    ['rounds of a check', `${ROUTED}${CHECK}`],
    ['attempts of somebody', 'assignee = "deacon"\nretry = { max_attempts = 2 }\n'],
    ['items', `${ROUTED}on_complete = { for_each = "output.x", bond = "own" }\n`],
  ])('goes where its steps say for %s', (_, keys) => {
    expect(planned(keys).beads.length).toBeGreaterThan(1);
  });
});
