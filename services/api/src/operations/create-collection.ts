import { parseAmount, type BaseUnits } from '@opentill/domain/money';
import { acceptedAmount, acceptedShares } from '@opentill/domain/order-shares';
import { formatPrice } from '@opentill/domain/price';
import type { Asset } from '../asset-book.ts';
import { explainOrigin } from '../explain/explain-order.ts';
import type { CollectionFields } from '../order-fields.ts';
import type { Problem } from '../problem.ts';
import type { CreationOutcome, NewCollection, NewOption } from '../store/create-orders.ts';
import type { CreationAttempt, OrderRequest } from './create-once.ts';
import { creationOf, newOrder, ONE_COIN, type OwnFields } from './new-order.ts';
import { pricedOptions, priceIn, type Quote } from './price-options.ts';
import { rangeProblem, tooManyDecimals, unsupported } from './reject-fields.ts';
import type { OrderDeps } from './order-deps.ts';
import { takeAddress } from './take-address.ts';

type CollectionRequest = OrderRequest<CollectionFields>;

export async function createCollection(
  deps: OrderDeps,
  request: CollectionRequest,
): Promise<CreationAttempt> {
  const options = await optionsOf(deps, request);
  if ('code' in options) return options;
  const [first, second] = options;
  if (first === undefined) throw new RangeError('there is an option or a problem');
  const problem = returnUrlProblem(request);
  if (problem !== undefined) return problem;
  return second === undefined
    ? createForOneCoin(deps, request, first)
    : createWithOptions(deps, request, first, options);
}

/** An order of one coin: the requested one, or the only one that the customer could choose. */
async function createForOneCoin(
  deps: OrderDeps,
  request: CollectionRequest,
  { asset, amount, quoted }: Option,
): Promise<CreationAttempt> {
  if (!(await deps.chains.isReady(asset.chain))) return { code: 'CHAIN_NOT_READY' };
  const fresh = await takeAddress(deps.pool, asset.family);
  if (fresh === undefined) return { code: 'SERVICE_UNAVAILABLE' };

  const order = newOrder(deps, request, asset, amount, {
    ...ONE_COIN,
    ...pricing(request, quoted),
    ...ownFields(request),
    acceptedAmount: acceptedAmount(amount, request.merchant.underpaymentToleranceBps),
    address: fresh.address,
  });
  // On an error the address is discarded. After a timeout an order may use it, and an error of Postgres may concern the
  // address. Indices are plentiful, and two orders must never share an address.
  const result = await store(deps, {
    ...creationOf(deps, order, request.nonce),
    derivationIndex: fresh.derivationIndex,
  });
  if (result.outcome !== 'CREATED') deps.pool.giveBack(fresh);
  return { order, result };
}

/** The customer chooses the coin later (choose-option.ts). Until then the order has no address. */
async function createWithOptions(
  deps: OrderDeps,
  request: CollectionRequest,
  { asset, amount, quoted }: Option,
  options: readonly Option[],
): Promise<CreationAttempt> {
  const order = newOrder(deps, request, asset, amount, {
    ...pricing(request, quoted),
    ...ownFields(request),
    acceptedAmount: acceptedShares(request.merchant.underpaymentToleranceBps),
    address: null,
    choices: 0,
    options: options.map(newOption),
  });
  return { order, result: await store(deps, creationOf(deps, order, request.nonce)) };
}

/** An order of a payment link needs the lock of the link. */
function store(deps: Pick<OrderDeps, 'store'>, creation: NewCollection): Promise<CreationOutcome> {
  const { linkId } = creation.order;
  return linkId === null ? deps.store.createCollection(creation) : deps.store.openLinkOrder(creation);
}

function newOption({ asset, amount, quoted }: Option): NewOption {
  if (quoted === null) throw new RangeError('an option has a rate');
  return {
    chain: asset.chain,
    family: asset.family,
    symbol: asset.symbol,
    contractAddress: asset.contract,
    decimals: asset.decimals,
    displayDecimals: asset.displayDecimals,
    amount: amount.toString(),
    confirmationsRequired: asset.confirmationsFor(amount),
    rate: quoted.rate,
    rateId: quoted.rateId,
    chosen: false,
  };
}

function ownFields({ merchant, fields }: CollectionRequest) {
  return {
    sourceAddress: null,
    lateGraceSeconds: merchant.lateGraceSeconds,
    returnUrl: fields.returnUrl?.href ?? null,
    description: fields.description,
    ttlSeconds: fields.expiresInSeconds ?? merchant.orderTtlSeconds,
  };
}

function pricing(
  { merchant, fields }: CollectionRequest,
  quoted: Quote | null,
): Pick<OwnFields, 'currency' | 'price' | 'rate' | 'rateId' | 'markupBps'> {
  if (quoted === null || fields.price === null) return ONE_COIN;
  return {
    currency: fields.price.currency,
    price: formatPrice(fields.price),
    rate: quoted.rate,
    rateId: quoted.rateId,
    markupBps: merchant.markupBps,
  };
}

function returnUrlProblem({ merchant, fields: { returnUrl } }: CollectionRequest): Problem | undefined {
  if (returnUrl === null || merchant.returnOrigins.includes(returnUrl.origin)) return undefined;
  return { code: 'RETURN_URL_INVALID', detail: explainOrigin(returnUrl, merchant.returnOrigins) };
}

/** A coin with the amount that pays the order in it, as requested or by the current rate (docs/architecture/prices.md). */
interface Option {
  readonly asset: Asset;
  readonly amount: BaseUnits;
  /** Null for an order with an amount. */
  readonly quoted: Quote | null;
}

/** At least one. */
async function optionsOf(deps: OrderDeps, request: CollectionRequest): Promise<readonly Option[] | Problem> {
  const { merchant, fields } = request;
  const { coin, price, amount: text } = fields;
  if (coin === null) return pricedOptions(deps, request);
  const asset = deps.assets.find(coin.chain, coin.symbol);
  if (asset === undefined) return unsupported(deps, coin);
  if (price === null) {
    const amount = parseAmount(text ?? '', asset.decimals);
    if (!amount.ok) return tooManyDecimals(text ?? '', asset);
    const { value } = amount;
    return rangeProblem(value, asset) ?? [{ asset, amount: value, quoted: null }];
  }
  const rates = await deps.store.findRates([asset.symbol], price.currency);
  const priced = priceIn({ price, merchant, asset, rates });
  return 'code' in priced ? priced : [priced];
}
