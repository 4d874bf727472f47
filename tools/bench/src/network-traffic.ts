import type { NetworkConfig } from '@opentill/contracts/network-config';

/**
 * What is typical of a network's blocks: transfers of the configured tokens, other transactions, how far and in which
 * steps `finalized` follows. On main networks from public statistics, on test networks little.
 */
export interface Traffic {
  readonly transfersPerBlock: number;
  readonly otherTransactions: number;
  readonly finalityLagBlocks: number;
  readonly finalityStepBlocks: number;
  /** How much faster than life it is followed when no duration is asked for. */
  readonly speed: number;
}

const TRAFFIC: Readonly<Record<string, Traffic>> = {
  ETH: {
    transfersPerBlock: 120,
    otherTransactions: 80,
    finalityLagBlocks: 64,
    finalityStepBlocks: 32,
    speed: 40,
  },
  BSC: {
    transfersPerBlock: 65,
    otherTransactions: 60,
    finalityLagBlocks: 3,
    finalityStepBlocks: 1,
    speed: 2,
  },
  POLYGON: {
    transfersPerBlock: 30,
    otherTransactions: 70,
    finalityLagBlocks: 4,
    finalityStepBlocks: 1,
    speed: 8,
  },
  AVAX_C_CHAIN: {
    transfersPerBlock: 5,
    otherTransactions: 15,
    finalityLagBlocks: 4,
    finalityStepBlocks: 1,
    speed: 8,
  },
  ETH_SEPOLIA: {
    transfersPerBlock: 5,
    otherTransactions: 100,
    finalityLagBlocks: 64,
    finalityStepBlocks: 32,
    speed: 40,
  },
  BSC_TEST: {
    transfersPerBlock: 2,
    otherTransactions: 20,
    finalityLagBlocks: 3,
    finalityStepBlocks: 1,
    speed: 2,
  },
  POLYGON_AMOY: {
    transfersPerBlock: 1,
    otherTransactions: 20,
    finalityLagBlocks: 4,
    finalityStepBlocks: 1,
    speed: 8,
  },
  AVAX_FUJI_TEST: {
    transfersPerBlock: 1,
    otherTransactions: 3,
    finalityLagBlocks: 4,
    finalityStepBlocks: 1,
    speed: 8,
  },
};

/** Throws when a network of the files is not listed here. */
export function trafficOf({ chain }: NetworkConfig): Traffic {
  const traffic = TRAFFIC[chain];
  if (traffic === undefined) throw new Error(`no traffic is known of ${chain}`);
  return traffic;
}
