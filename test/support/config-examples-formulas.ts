/** The formula that the files of the examples have. */
export const FORMULA = 'formula = "greet"\n[[steps]]\nid = "say"\ntitle = "Say hello"\n';

/** A path of the family with its parameters filled, and the query that it demands; others stay as they are. */
export function formulaPath(path: string, city: string, method: string): string {
  const found = /^\/v0\/city\/[^/]+\/(formulas?)(\/(?!feed$)[^/]+)?(\/feed|\/runs)?$/.exec(path);
  const named = path.replace(/(\/formulas?\/)\{name\}/, '$1greet');
  if (found === null || method !== 'GET') return named;
  return `${named}?scope_kind=city&scope_ref=${city}${found[2] === undefined || found[3] !== undefined ? '' : '&target=mayor'}`;
}

/** Bodies where the example of the document names what is not here. */
export const FORMULA_BODIES: Readonly<Record<string, object>> = {
  'post-v0-city-by-city-name-formulas-by-name-preview': { scope_kind: 'rig', scope_ref: 'yard', target: 'mayor' },
};

/** Uses every mutation of the family once, to good effect. */
export async function useFormulas(
  ask: (method: string, path: string, body?: object | string) => Promise<{ id: string } & Record<string, unknown>>,
  city: string,
): Promise<void> {
  await ask('POST', 'formulas/greet/validate', FORMULA);
  await ask('PUT', 'formulas/made', FORMULA.replace('"greet"', '"made"'));
  await ask('POST', 'formulas/greet/preview', { scope_kind: 'city', scope_ref: city, target: 'mayor' });
  await ask('DELETE', 'formulas/made');
  const { workflow_id: run } = await ask('POST', 'sling', { target: 'mayor', formula: 'greet' });
  await ask('POST', `runs/${run as string}/cancel`);
  const { id: molecule } = await ask('POST', 'molecules', { formula: 'greet' });
  await ask('DELETE', `workflow/${molecule}?delete=true`);
}
