import { ask, type Api, type Schemas } from '../api.js';
import { allOf } from '../../client/pages.js';

/** The registered cities that the key may see, by name. */
export function citiesOf(api: Api, until?: AbortSignal): Promise<Schemas['CityInfo'][]> {
  return allOf(async (query) => {
    const call = (limit: AbortSignal): ReturnType<typeof get> => get(until === undefined ? limit : AbortSignal.any([limit, until]));
    const get = (signal: AbortSignal) => api.http.GET('/v0/cities', { params: { query }, signal });
    return (await ask(api, call)).data;
  });
}
