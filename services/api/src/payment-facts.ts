import type { FeeClass } from '@opentill/contracts/http/answers';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { PRESET_CHAINS, type Chain, type PresetChain } from '@opentill/domain/chains';

/** For the customer's choice of a network; no decision depends on these facts. */
interface PaymentFacts {
  /** A token transfer in usual conditions. LOW: below 0.10 USD. MEDIUM: up to about 5 USD. HIGH: may exceed that by far. */
  readonly feeClass: FeeClass;
  /** Usual time until a block has the tag `finalized`, or is solid. */
  readonly finalitySeconds: number;
}

/** Rollups are final with the base chain: two epochs of Ethereum and the time until their data are there. */
const ROLLUP: PaymentFacts = { feeClass: 'LOW', finalitySeconds: 1_200 };

const FACTS: Readonly<Record<string, PaymentFacts>> = {
  /** Solid after 19 of 27 producers, at 3 s a block. */
  TRON: { feeClass: 'MEDIUM', finalitySeconds: 57 },
  /** Two epochs of 32 slots of 12 s. */
  ETH: { feeClass: 'HIGH', finalitySeconds: 780 },
  BSC: { feeClass: 'LOW', finalitySeconds: 2 },
  POLYGON: { feeClass: 'LOW', finalitySeconds: 5 },
  AVAX: { feeClass: 'LOW', finalitySeconds: 2 },
  BASE: ROLLUP,
  ARBITRUM: ROLLUP,
  OPTIMISM: ROLLUP,
  SUI: { feeClass: 'LOW', finalitySeconds: 1 },
};

/** A test network has the facts of its main network. Undefined for a chain of the networks file. */
function factsOf(chain: Chain): PaymentFacts | undefined {
  const [name = ''] = chain.split('_');
  return PRESET_CHAINS.includes(chain as PresetChain) ? FACTS[name] : undefined;
}

/** Null for a chain that is not a preset. */
export function feeClassOf(chain: Chain): FeeClass | null {
  return factsOf(chain)?.feeClass ?? null;
}

/**
 * Usual time until a payment counts. Null where the finality of the chain decides and is not known.
 * @param confirmations null: finality decides
 */
export function expectedSeconds(network: NetworkConfig, confirmations: number | null): number | null {
  const ofBlocks = (blocks: number) => Math.ceil((blocks * network.blockTimeMs) / 1_000);
  if (confirmations !== null) return ofBlocks(confirmations);
  const { tag, minDepth = 0 } = network.finality ?? {};
  // A block is safe much earlier than final, at a time that depends on how often the chain's operator sends its data.
  const finality = tag === 'safe' ? undefined : factsOf(network.chain)?.finalitySeconds;
  return finality === undefined ? null : Math.max(finality, ofBlocks(minDepth));
}
