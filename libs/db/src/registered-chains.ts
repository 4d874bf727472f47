import { sql } from 'kysely';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { kindOf } from '@opentill/contracts/network-kind';
import type { Chain, Family, NetworkKind } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Db } from './database.ts';

export type RegisteredChainErrorCode =
  /** The networks file names a chain that the database lacks, or has with another identity. */
  'CHAIN_NOT_REGISTERED';

export type ChainIdentity = Pick<NetworkConfig, 'chain' | 'family' | 'chainId' | 'kind'>;

interface RegisteredChain {
  readonly chain: Chain;
  readonly family: Family;
  readonly chainId: bigint | null;
  readonly kind: NetworkKind | null;
}

/**
 * Adds chains permanently, as the owner of the database. @returns those that were missing
 * @throws GatewayError CHAIN_NOT_REGISTERED if a chain has another identity in the database
 */
export async function registerChains(db: Db, networks: readonly ChainIdentity[]): Promise<readonly Chain[]> {
  return db.transaction().execute(async (tx) => {
    const added: Chain[] = [];
    for (const network of networks) {
      const { rows } = await sql`
        insert into chain_family (chain, family, chain_id, kind)
        values (${network.chain}, ${network.family}, ${network.chainId ?? null}, ${kindOf(network)})
        on conflict do nothing returning chain`.execute(tx);
      if (rows.length > 0) added.push(network.chain);
      else await requireRegistered(tx, network);
    }
    return added;
  });
}

/**
 * A payment on a chain with two names would count twice, and a name with another chain id would mix two chains.
 * @throws GatewayError CHAIN_NOT_REGISTERED
 */
export async function requireRegistered(db: Db, network: ChainIdentity): Promise<void> {
  const [mistake] = (await findUnregistered(db, [network])).values();
  if (mistake !== undefined) throw mistake;
}

export type RegistrationMistakes = ReadonlyMap<Chain, GatewayError<RegisteredChainErrorCode>>;

/** @returns an error for each chain that the database lacks, or has with another identity */
export async function findUnregistered(
  db: Db,
  networks: readonly ChainIdentity[],
): Promise<RegistrationMistakes> {
  const names = networks.map(({ chain }) => chain);
  const ids = networks.flatMap(({ chainId }) => chainId ?? []);
  const { rows } = await sql<RegisteredChain>`
    select chain, family, chain_id as "chainId", kind from chain_family
    where chain = any(${names}::text[]) or chain_id = any(${ids}::bigint[])`.execute(db);
  return new Map(
    networks.flatMap((network) => {
      const { chain, chainId } = network;
      const message = mistakeOf(network, rows);
      if (message === undefined) return [];
      const options = { retryable: false, context: { chain, chainId } };
      return [
        [
          chain,
          new GatewayError<RegisteredChainErrorCode>('CHAIN_NOT_REGISTERED', message, options),
        ] as const,
      ];
    }),
  );
}

function mistakeOf(network: ChainIdentity, rows: readonly RegisteredChain[]): string | undefined {
  const { chain, family, chainId } = network;
  const known = rows.find((row) => row.chain === chain);
  const twin = rows.find(
    (row) => row.chain !== chain && row.chainId !== null && Number(row.chainId) === chainId,
  );
  if (twin !== undefined)
    return `chain id ${chainId} is ${twin.chain} in this database. Use this name in the networks file`;
  if (known === undefined)
    return `${chain} is not in the database. Run opentill setup with this networks file`;
  const kind = kindOf(network);
  const isSameId = known.chainId === null || Number(known.chainId) === chainId;
  const differences = [
    known.family === family ? '' : `of the family ${known.family}, not ${family}`,
    isSameId ? '' : `chain id ${known.chainId}, not ${chainId}`,
    known.kind === null || known.kind === kind ? '' : `a ${known.kind} network, not ${kind}`,
  ].filter((difference) => difference !== '');
  if (differences.length === 0) return undefined;
  // With the same chain id, another name would be refused as well.
  const remedy = isSameId
    ? 'Use a database of its own for a gateway of the other kind'
    : `Give this one another name in the networks file and run opentill setup. The name ${chain} stays unused if it was mistyped`;
  return `${chain} is ${differences.join(' and ')} in this database. A chain keeps its identity. ${remedy}`;
}

/** Chains with open orders, payouts or transactions. */
export async function findAwaitedChains(db: Db): Promise<readonly Chain[]> {
  const { rows } = await sql<{ chain: Chain }>`
    select chain from chain_family where is_chain_awaited(chain) order by chain`.execute(db);
  return rows.map(({ chain }) => chain);
}
