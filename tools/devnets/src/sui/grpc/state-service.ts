import { GrpcTypes } from '@mysten/sui/grpc';
import { isValidSuiAddress, normalizeSuiAddress } from '@mysten/sui/utils';
import { fundsOf, type Chain } from '../chain/chain.ts';
import { refuse } from '../chain/refusal.ts';
import { canonicalType, FRAMEWORK } from '../coin-type.ts';
import { blake2b256, hexOf } from '../digest.ts';
import { readMask } from './field-mask.ts';
import { unary, type Handlers } from './methods.ts';
import { compareOwned, OBJECT_DEFAULTS, showObject } from './show-object.ts';

const DEFAULT_PAGE = 50;
const MOST_OF_PAGE = 1_000;
const ANY_COIN = `${FRAMEWORK}::coin::Coin`;

const { CoinMetadata_MetadataCapState: CapState, RegulatedCoinMetadata_CoinRegulatedState: RegulatedState } =
  GrpcTypes;

export const STATE_HANDLERS: Handlers = {
  ListOwnedObjects: unary<GrpcTypes.ListOwnedObjectsRequest, GrpcTypes.ListOwnedObjectsResponse>(
    (node, request) => {
      const mask = readMask(GrpcTypes.Object, request.readMask, [...OBJECT_DEFAULTS, 'owner', 'object_type']);
      const wanted = request.objectType === undefined ? undefined : readType(request.objectType);
      const owned = node.chain.index.objects.get(readAddress(request.owner)) ?? new Map();
      const objects = [...owned.values()]
        .filter(
          ({ type }) =>
            wanted === undefined ||
            type === wanted ||
            (wanted === ANY_COIN && type.startsWith(`${ANY_COIN}<`)),
        )
        .toSorted(compareOwned);
      const { items, nextPageToken } = page(objects, request);
      return { objects: items.map((object) => showObject(object, mask)), ...nextPageToken };
    },
  ),
  GetBalance: unary<GrpcTypes.GetBalanceRequest, GrpcTypes.GetBalanceResponse>((node, request) => ({
    balance: balanceOf(node.chain, readAddress(request.owner), readType(request.coinType)),
  })),
  ListBalances: unary<GrpcTypes.ListBalancesRequest, GrpcTypes.ListBalancesResponse>((node, request) => {
    const owner = readAddress(request.owner);
    const { items, nextPageToken } = page(coinTypesOf(node.chain, owner), request);
    return { balances: items.map((coinType) => balanceOf(node.chain, owner, coinType)), ...nextPageToken };
  }),
  GetCoinInfo: unary<GrpcTypes.GetCoinInfoRequest, GrpcTypes.GetCoinInfoResponse>((node, request) => {
    const coinType = readType(request.coinType);
    const coin = node.chain.coins.get(coinType);
    if (coin === undefined) return refuse('NOT_FOUND', `Coin type ${coinType} not found`);
    const { symbol, name, decimals } = coin;
    const id = hexOf(blake2b256(Buffer.from(`metadata of ${coinType}`)));
    return {
      coinType,
      metadata: {
        id,
        symbol,
        name,
        decimals,
        description: '',
        iconUrl: '',
        metadataCapState: CapState.DELETED,
      },
      regulatedMetadata: {
        coinRegulatedState: coin.regulated ? RegulatedState.REGULATED : RegulatedState.UNREGULATED,
        ...(coin.regulated && { allowGlobalPause: true }),
      },
    };
  }),
};

function readAddress(text: string | undefined): string {
  const address = normalizeSuiAddress(text ?? '');
  return isValidSuiAddress(address) ? address : refuse('INVALID_ARGUMENT', `invalid owner: ${text ?? ''}`);
}

function readType(text: string | undefined): string {
  try {
    return canonicalType(text ?? '');
  } catch {
    return refuse('INVALID_ARGUMENT', `invalid type: ${text ?? ''}`);
  }
}

function balanceOf(chain: Chain, owner: string, coinType: string): GrpcTypes.Balance {
  let coinBalance = 0n;
  for (const { coin } of chain.index.objects.get(owner)?.values() ?? []) {
    if (coin?.coinType === coinType) coinBalance += coin.balance;
  }
  const addressBalance = fundsOf(chain.index.funds, owner, coinType);
  return { coinType, balance: coinBalance + addressBalance, coinBalance, addressBalance };
}

function coinTypesOf(chain: Chain, owner: string): readonly string[] {
  const types = new Set<string>();
  for (const { coin } of chain.index.objects.get(owner)?.values() ?? []) {
    if (coin !== undefined) types.add(coin.coinType);
  }
  for (const coinType of chain.coins.keys()) {
    if (fundsOf(chain.index.funds, owner, coinType) > 0n) types.add(coinType);
  }
  return [...types].toSorted();
}

interface PageRequest {
  readonly pageSize?: number;
  readonly pageToken?: Uint8Array;
}

function page<T>(
  all: readonly T[],
  { pageSize, pageToken }: PageRequest,
): { readonly items: readonly T[]; readonly nextPageToken: { readonly nextPageToken?: Uint8Array } } {
  const from = pageToken === undefined ? 0 : Number(Buffer.from(pageToken).toString('utf8'));
  if (!Number.isSafeInteger(from)) refuse('INVALID_ARGUMENT', 'invalid page_token');
  const size = pageSize === undefined || pageSize === 0 ? DEFAULT_PAGE : Math.min(pageSize, MOST_OF_PAGE);
  const to = from + size;
  const token = to < all.length ? { nextPageToken: new Uint8Array(Buffer.from(String(to))) } : {};
  return { items: all.slice(from, to), nextPageToken: token };
}
