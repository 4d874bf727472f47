import { CHAIN_ROUTES } from './chain-routes.ts';
import { LEDGER_ROUTES } from './ledger-routes.ts';
import { MERCHANT_ROUTES } from './merchant-routes.ts';
import { OPERATOR_ROUTES } from './operator-routes.ts';
import { ORDER_ROUTES } from './order-routes.ts';
import { PAYOUT_ROUTES } from './payout-routes.ts';
import type { AnswerOf, InputOf, OpsRoute } from './route.ts';
import { SWEEP_ROUTES } from './sweep-routes.ts';
import { TRANSFER_ROUTES } from './transfer-routes.ts';
import { WATCH_ROUTES } from './watch-routes.ts';

/** The router, the OpenAPI document and the CLI's client are derived from these routes. */
export const OPS_ROUTES = {
  ...MERCHANT_ROUTES,
  ...ORDER_ROUTES,
  ...TRANSFER_ROUTES,
  ...PAYOUT_ROUTES,
  ...WATCH_ROUTES,
  ...CHAIN_ROUTES,
  ...SWEEP_ROUTES,
  ...LEDGER_ROUTES,
  ...OPERATOR_ROUTES,
} as const satisfies Readonly<Record<string, OpsRoute>>;

type Routes = typeof OPS_ROUTES;
export type OpsOperation = keyof Routes;
export type OperationOf<K extends OpsRoute['kind']> = {
  [O in OpsOperation]: Routes[O]['kind'] extends K ? O : never;
}[OpsOperation];

export type OpsInput<O extends OpsOperation> = InputOf<Routes[O]>;
export type OpsAnswer<O extends OpsOperation> = AnswerOf<Routes[O]>;

export const OPS_OPERATIONS = Object.keys(OPS_ROUTES) as readonly OpsOperation[];
