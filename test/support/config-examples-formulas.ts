/** The formula that the files of the examples have. */
export const FORMULA = 'formula = "greet"\n[[steps]]\nid = "say"\ntitle = "Say hello"\n';

/** A path of the family with its parameters filled, and the query that it demands; others stay as they are. */
export function formulaPath(path: string, city: string): string {
  const [, one, more] = /\{cityName\}\/formulas?(\/\{name\}(\/\w+)?)?$/.exec(path) ?? [path];
  if (!/\{cityName\}\/formulas?(\/|$)/.test(path)) return path;
  const scope = `scope_kind=city&scope_ref=${city}`;
  const query = more !== undefined ? '' : one === undefined ? `?${scope}` : `?${scope}&target=mayor`;
  return `${path.replace('{name}', 'greet')}${query}`;
}

/** Uses every mutation of the family once, to good effect. */
export async function useFormulas(
  ask: (method: string, path: string, body?: object | string) => Promise<unknown>,
  city: string,
): Promise<void> {
  await ask('POST', 'formulas/greet/validate', FORMULA);
  await ask('PUT', 'formulas/made', FORMULA.replace('"greet"', '"made"'));
  await ask('POST', 'formulas/greet/preview', { scope_kind: 'city', scope_ref: city, target: 'mayor' });
  await ask('DELETE', 'formulas/made');
}
