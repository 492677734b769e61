import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import type { OKResponseBody } from '../../../contract/scalars.js';
import type { Expected } from '../../../platform/http/if-match.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { ConfigEditsService, type EditAnswer } from '../../configuration/config/config-edits.service.js';
import { isTable, type Document } from '../../configuration/config/documents.js';
import { orderNamed } from './order-names.js';
import { ordersOf } from './order-definition.js';

export interface OrderSwitch {
  readonly city: CityScope;
  readonly caller: Principal;
  readonly expected: Expected;
}

/** Enabling and disabling orders: an override in the city's file. */
@Injectable()
export class OrderSwitchesService {
  constructor(private readonly edits: ConfigEditsService) {}

  /** @throws ProblemError order_not_found, ambiguous_reference */
  set({ city, caller, expected }: OrderSwitch, name: string, enabled: boolean): Promise<EditAnswer<OKResponseBody>> {
    return this.edits.run({ city, caller, expected }, async (draft) => {
      const order = orderNamed(ordersOf(draft.current), name);
      if (order.enabled !== enabled) await draft.edit('city.toml', (document) => override(document, order.name, order.rig, enabled));
      return { body: { status: enabled ? 'enabled' : 'disabled' } };
    });
  }
}

/** The last word on an order is that of the last override which names it. */
function override(document: Document, name: string, rig: string, enabled: boolean): void {
  const orders = isTable(document.orders) ? document.orders : (document.orders = {});
  const overrides = (Array.isArray(orders.overrides) ? orders.overrides : (orders.overrides = [])) as Document[];
  const at = overrides.findLastIndex((each) => each.name === name && ((each.rig as string | undefined) ?? '') === rig);
  const hidden = overrides.some((each, n) => n > at && each.name === name && each.rig === '*' && each.enabled !== undefined);
  if (at >= 0 && !hidden) overrides[at]!.enabled = enabled;
  else overrides.push({ name, ...(rig === '' ? {} : { rig }), enabled });
}
