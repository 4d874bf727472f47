import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { GatewayError } from '@opentill/domain/gateway-error';
import { signHash } from './chain/signature.ts';
import type { TronDevAccount } from './dev-accounts.ts';
import { hexBytes } from './tron-address.ts';

// Fake energy provider with TronSave's API (docs.tronsave.io, "Buy resources with an API key", version 2).

/** Misbehaviour for the next `times` orders (default: until cleared). */
export type SellerFault =
  /** Charges without delegating. */
  | { readonly kind: 'never-delivers'; readonly times?: number }
  | { readonly kind: 'late'; readonly delayMs: number; readonly times?: number }
  | { readonly kind: 'too-little'; readonly percent: number; readonly times?: number }
  /** Charges and delegates, but returns 500, so that the customer does not learn of it. */
  | { readonly kind: 'charges-and-fails'; readonly times?: number }
  /** Charges and delegates, but never responds. */
  | { readonly kind: 'hangs'; readonly times?: number }
  /** Returns 400 without charging. */
  | { readonly kind: 'refuses'; readonly times?: number };

export interface SoldEnergy {
  readonly orderId: string;
  readonly receiver: string;
  readonly energy: number;
  readonly payoutAmount: number;
  delivered: number;
}

export interface EnergySellerOptions {
  /** URL of the devnet's node, or a function if the node starts later. */
  readonly nodeUrl: string | (() => string);
  readonly account: TronDevAccount;
  readonly apiKey: string;
  /** Sun per unit of energy. @default 44 */
  readonly unitPriceSun?: number;
  /** The customer's prepaid balance in sun. @default 1,000 TRX */
  readonly balanceSun?: number;
  /** @default 0 for a free port */
  readonly port?: number;
}

export interface EnergySeller {
  readonly url: string;
  readonly apiKey: string;
  orders(): readonly SoldEnergy[];
  balanceSun(): number;
  setUnitPriceSun(sun: number): void;
  fault(fault: SellerFault): void;
  clearFaults(): void;
  close(): Promise<void>;
}

const MIN_ENERGY = 64_000;
const DEFAULT_BALANCE_SUN = 1_000_000_000;
const DEFAULT_UNIT_PRICE_SUN = 44;
const BODY_BYTES = 64 * 1024;
const SUN_PER_TRX = 1_000_000;

/** The account must have stake (control.stake). */
export async function startEnergySeller(options: EnergySellerOptions): Promise<EnergySeller> {
  const shop = openShop(options);
  const server = createServer((request, response) => {
    answer(shop, options.apiKey, request)
      .then((given) => {
        if (given === 'nothing') return;
        response.writeHead(given.status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(given.body));
      })
      .catch(() => response.destroy());
  });
  const url = await listen(server, options.port ?? 0);
  return {
    url,
    apiKey: options.apiKey,
    orders: () => shop.sold,
    balanceSun: () => shop.balanceSun,
    setUnitPriceSun: (sun) => (shop.unitPriceSun = sun),
    fault: (fault) => shop.faults.push({ fault, left: fault.times ?? Number.POSITIVE_INFINITY }),
    clearFaults: () => void shop.faults.splice(0),
    async close() {
      for (const timer of shop.late) clearTimeout(timer);
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Shop {
  unitPriceSun: number;
  balanceSun: number;
  readonly sold: SoldEnergy[];
  readonly faults: { readonly fault: SellerFault; left: number }[];
  readonly late: Set<NodeJS.Timeout>;
  readonly deliver: (order: SoldEnergy, energy: number) => Promise<void>;
}

function openShop(options: EnergySellerOptions): Shop {
  return {
    unitPriceSun: options.unitPriceSun ?? DEFAULT_UNIT_PRICE_SUN,
    balanceSun: options.balanceSun ?? DEFAULT_BALANCE_SUN,
    sold: [],
    faults: [],
    late: new Set(),
    async deliver(order, energy) {
      await lend(options, order.receiver, energy);
      order.delivered += energy;
    },
  };
}

async function answer(shop: Shop, apiKey: string, request: IncomingMessage): Promise<Answer> {
  const { pathname } = new URL(request.url ?? '/', 'http://seller');
  const body = request.method === 'POST' ? await readWish(request) : {};
  if (pathname === '/v2/estimate-buy-resource') return estimate(shop, body);
  if (request.headers['apikey'] !== apiKey) return failure(401, 'INVALID_API_KEY');
  if (pathname === '/v2/buy-resource') return sell(shop, body);
  if (pathname === '/v2/user-info') return success({ id: 'devnet', balance: String(shop.balanceSun) });
  return failure(404, 'NOT_FOUND');
}

function estimate({ unitPriceSun }: Shop, { durationSec = 3_600, resourceAmount = 0 }: Wish): Answer {
  return success({
    unitPrice: unitPriceSun,
    durationSec,
    estimateTrx: unitPriceSun * resourceAmount,
    availableResource: 100_000_000,
  });
}

async function sell(shop: Shop, { receiver, resourceAmount: energy = 0, unitPrice }: Wish): Promise<Answer> {
  const price = typeof unitPrice === 'number' ? unitPrice : shop.unitPriceSun;
  const payoutAmount = price * energy;
  if (receiver === undefined || energy < MIN_ENERGY) return failure(400, 'RESOURCE_AMOUNT_INVALID');
  if (price < shop.unitPriceSun) return failure(400, 'CANNOT_FULFILLED');
  if (payoutAmount > shop.balanceSun) return failure(400, 'NOT_ENOUGH_BALANCE');
  const next = shop.faults.find(({ left }) => left > 0);
  if (next !== undefined) next.left -= 1;
  const fault = next?.fault;
  if (fault?.kind === 'refuses') return failure(400, 'CANNOT_FULFILLED');
  shop.balanceSun -= payoutAmount;
  const orderId = createHash('sha256').update(`order ${shop.sold.length}`).digest('hex').slice(0, 24);
  const order: SoldEnergy = { orderId, receiver, energy, payoutAmount, delivered: 0 };
  shop.sold.push(order);
  if (fault?.kind === 'late') deliverLater(shop, order, fault.delayMs);
  else if (fault?.kind === 'too-little')
    await shop.deliver(order, Math.floor((energy * fault.percent) / 100));
  else if (fault?.kind !== 'never-delivers') await shop.deliver(order, energy);
  if (fault?.kind === 'charges-and-fails') return failure(500, 'INTERNAL_SERVER_ERROR');
  return fault?.kind === 'hangs' ? 'nothing' : success({ orderId });
}

function deliverLater(shop: Shop, order: SoldEnergy, delayMs: number): void {
  const timer = setTimeout(() => {
    shop.late.delete(timer);
    void shop.deliver(order, order.energy).catch(() => undefined);
  }, delayMs);
  shop.late.add(timer);
}

interface Wish {
  readonly receiver?: string;
  readonly resourceAmount?: number;
  readonly unitPrice?: number | string;
  readonly durationSec?: number;
}

/** `'nothing'`: the connection stays open without a response. */
type Answer = { readonly status: number; readonly body: object } | 'nothing';

function success(data: object): Answer {
  return { status: 200, body: { error: false, message: 'Success', data } };
}

function failure(status: number, message: string): Answer {
  return { status, body: { error: true, message } };
}

async function readWish(request: IncomingMessage): Promise<Wish> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes > BODY_BYTES) throw new Error('the body is too large');
    chunks.push(chunk as Buffer);
  }
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as Wish;
}

async function lend(
  { nodeUrl: node, account }: EnergySellerOptions,
  receiver: string,
  energy: number,
): Promise<void> {
  const nodeUrl = typeof node === 'string' ? node : node();
  const totals = await post(nodeUrl, 'getaccountresource', { address: account.address, visible: true });
  const { TotalEnergyLimit: limit, TotalEnergyWeight: weight } = totals as Record<string, number>;
  if (limit === undefined || weight === undefined) throw refused('its account does not exist');
  // Stake counts in whole TRX. Rounds up, so that the delegation covers the energy.
  const balance = Math.ceil((energy * weight) / limit + 1) * SUN_PER_TRX;
  const built = await post(nodeUrl, 'delegateresource', {
    owner_address: account.address,
    receiver_address: receiver,
    balance,
    resource: 'ENERGY',
    visible: true,
  });
  const { txID } = built as { txID?: string };
  if (txID === undefined) throw refused(JSON.stringify(built));
  const signature = Buffer.from(signHash(hexBytes(txID), hexBytes(account.privateKeyHex))).toString('hex');
  const sent = await post(nodeUrl, 'broadcasttransaction', { ...built, signature: [signature] });
  if ((sent as { result?: boolean }).result !== true) throw refused(JSON.stringify(sent));
}

async function post(url: string, method: string, body: object): Promise<object> {
  const answer = await fetch(`${url}/wallet/${method}`, {
    method: 'POST',
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  });
  return (await answer.json()) as object;
}

function refused(why: string): GatewayError<'SELLER_CANNOT_LEND'> {
  return new GatewayError('SELLER_CANNOT_LEND', `the devnet's energy seller could not delegate: ${why}`, {
    retryable: false,
  });
}

async function listen(server: Server, port: number): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
