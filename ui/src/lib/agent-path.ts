import { inCity, part } from '../api/client.js';

/** The address of an agent: `mayor`, or `web/worker` of a rig. */
export const agentPath = (city: string, name: string, below = ''): string =>
  inCity(city, `agent/${name.split('/').map(part).join('/')}${below === '' ? '' : `/${below}`}`);
