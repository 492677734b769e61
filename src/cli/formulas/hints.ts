import { ApiError } from '../errors.js';
import { hinted } from '../identity.js';

/** What to do where a formula is not there, or where a value is missing: `.catch(ofFormula('greet'))`. */
export function ofFormula(name: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 404 && error.message.includes('formula ')) return hinted(404, 'see `svc formula list`')(error);
    if (/ vars\.\S+: is required/.test(error.message))
      return hinted(error.status, `give a value with --var <name=value>; \`svc formula show ${name}\` lists the variables`)(error);
    throw error;
  };
}
