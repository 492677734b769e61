/**
 * A process of its own that makes one edit and dies where it is told to: `SVC_TEST_EDIT` holds what it needs as JSON,
 * `SVC_TEST_FAILPOINTS` where it dies.
 */
import type { CityScope } from '../../src/modules/tenancy/cities/city-scope.js';
import { armedFailpoints } from '../../src/platform/failpoints/arm.js';
import { ConfigProcess, setsVariable } from './config-process.js';

export interface EditOrder {
  readonly databaseUrl: string;
  readonly citiesRoot: string;
  readonly city: CityScope;
  readonly variable: string;
  /** A second file that the edit creates. */
  readonly creates?: string;
  /** A folder that it takes away. */
  readonly removes?: string;
}

const order = JSON.parse(process.env.SVC_TEST_EDIT!) as EditOrder;
const one = new ConfigProcess(order.databaseUrl, order.citiesRoot, armedFailpoints(process.env.SVC_TEST_FAILPOINTS));
const caller = { actor: 'child', keyId: undefined, scope: 'write', cities: undefined } as const;
await one.edits.run({ city: order.city, caller }, async (draft) => {
  await draft.edit('city.toml', setsVariable(order.variable));
  if (order.creates !== undefined) await draft.write(order.creates, '# new\n');
  if (order.removes !== undefined) draft.remove(order.removes);
  return { body: {} };
});
await one.close();
