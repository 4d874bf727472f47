import type { Address } from '@opentill/chain/address-codec';
import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { TokenContract } from '@opentill/chain/transfer';
import { coinTypeOf } from '../coin-type.ts';
import { isDigest, plainHeader } from '../decode-checkpoint.ts';
import { readHeader } from '../read-header.ts';
import type { SuiSource, SuiSources } from '../sui-sources.ts';
import type { CoinReference } from './payment-program.ts';

export interface Holding {
  readonly inCoins: bigint;
  readonly inFunds: bigint;
}

export interface HeldCoin extends CoinReference {
  readonly balance: bigint;
}

/** Sorted by balance, largest first. */
export interface Held extends Pick<Holding, 'inFunds'> {
  readonly coins: readonly HeldCoin[];
}

/**
 * Ten pages. More dust than that costs its sender over 10 SUI. Nodes list the largest coins first, so dust does not
 * hide a larger coin.
 */
const COINS_READ_MAX = 10_000;
const PAGE = 1_000;
const COIN_MASK = { paths: ['object_id', 'version', 'digest', 'owner', 'balance'] };
/** OwnerKind of the API: an address; an address with consensus ordering. */
const OWNED = 1;
const OWNED_BY_CONSENSUS = 5;

export async function readHolding(
  source: Pick<SuiSource, 'ask'>,
  owner: Address,
  coinType: TokenContract,
  options: ReadOptions,
): Promise<Holding> {
  const { response } = await source.ask(
    ({ state }, call) => state.getBalance({ owner, coinType }, call),
    options,
  );
  const { coinBalance = 0n, addressBalance = 0n } = response.balance ?? {};
  return { inCoins: coinBalance, inFunds: addressBalance };
}

export async function readHeld(
  source: Pick<SuiSource, 'ask' | 'label'>,
  owner: Address,
  coinType: TokenContract,
  options: ReadOptions,
): Promise<Held> {
  const { inCoins, inFunds } = await readHolding(source, owner, coinType, options);
  return { inFunds, coins: inCoins > 0n ? await readCoins(source, owner, coinType, options) : [] };
}

export async function readCoins(
  source: Pick<SuiSource, 'ask' | 'label'>,
  owner: Address,
  coinType: TokenContract,
  options: ReadOptions,
): Promise<readonly HeldCoin[]> {
  const coins: HeldCoin[] = [];
  let pageToken: Uint8Array | undefined;
  let named = 0;
  do {
    const page = pageToken === undefined ? {} : { pageToken };
    const { response } = await source.ask(
      ({ state }, call) =>
        state.listOwnedObjects(
          {
            owner,
            objectType: `0x2::coin::Coin<${coinType}>`,
            pageSize: PAGE,
            readMask: COIN_MASK,
            ...page,
          },
          call,
        ),
      options,
    );
    for (const { objectId, version, digest, owner: holder, balance } of response.objects) {
      if (!isCoinId(objectId) || !isDigest(digest ?? '') || version === undefined || balance === undefined)
        throw readerError(
          'INCONSISTENT_ANSWER',
          'the node returned a coin without id, version, digest or balance',
          {
            source: source.label,
          },
        );
      const startVersion = startOf(holder);
      if (balance > 0n && startVersion !== undefined)
        coins.push({
          id: objectId,
          version: version.toString(),
          digest: digest ?? '',
          startVersion,
          balance,
        });
    }
    // Empty coins count too, and an empty page counts as one coin, so that the loop ends.
    named += Math.max(1, response.objects.length);
    pageToken = response.nextPageToken;
  } while (pageToken !== undefined && pageToken.length > 0 && named < COINS_READ_MAX);
  return coins.sort((a, b) =>
    a.balance < b.balance ? 1 : a.balance > b.balance ? -1 : a.id < b.id ? -1 : 1,
  );
}

const COIN_ID = /^0x[0-9a-f]{64}$/;

function isCoinId(id: string | undefined): id is string {
  return id !== undefined && COIN_ID.test(id);
}

/** Null for an owned coin; undefined for one that this owner cannot spend. */
function startOf(holder: { kind?: number; version?: bigint } | undefined): string | null | undefined {
  if (holder?.kind === OWNED) return null;
  return holder?.kind === OWNED_BY_CONSENSUS ? holder.version?.toString() : undefined;
}

export interface Balances {
  readonly block: BlockHeader;
  readonly amounts: ReadonlyMap<TokenContract | null, bigint>;
  readonly allowanceBaseUnits: bigint;
  readonly scattered: ReadonlyMap<TokenContract | null, bigint>;
}

/**
 * The newest checkpoint is read first, so the balances are not older than it. A deposit address (with a sponsor) spends
 * coins without gathering.
 */
export function readBalances(
  sources: SuiSources,
  wallet: Address,
  contracts: readonly (TokenContract | null)[],
  sponsor: Address | undefined,
  options: ReadOptions,
): Promise<Balances> {
  return sources.run(async (source, own) => {
    const block = plainHeader(await readHeader(source, own));
    const holdings = await Promise.all(
      contracts.map(async (contract) => {
        return [contract, await readHolding(source, wallet, coinTypeOf(contract), own)] as const;
      }),
    );
    const amounts = new Map(
      holdings.map(([contract, { inCoins, inFunds }]) => [contract, inCoins + inFunds]),
    );
    if (sponsor !== undefined) {
      const { inFunds } = await readHolding(source, sponsor, coinTypeOf(null), own);
      return { block, amounts, allowanceBaseUnits: inFunds, scattered: new Map() };
    }
    const scattered = new Map(holdings.map(([contract, { inCoins }]) => [contract, inCoins]));
    return { block, amounts, allowanceBaseUnits: 0n, scattered };
  }, options);
}
