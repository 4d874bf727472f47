import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { BenchFamily } from '../families/family.ts';
import { createCannedChain } from './chains.ts';
import { startChild } from '../child.ts';
import type { CannedNetwork, NodeRequest, SourceCount } from './node.ts';

export interface Traffic {
  readonly transfersPerBlock: number;
  readonly otherTransactions: number;
  readonly blocksPerDeposit: number;
}

export function cannedNetwork(
  family: BenchFamily,
  network: NetworkConfig,
  traffic: Traffic,
  head: Omit<CannedNetwork, 'name' | 'plan'>,
): CannedNetwork {
  const contracts = network.tokens.flatMap(({ contract }) => (contract === null ? [] : [contract]));
  return {
    name: network.chain,
    plan: {
      family: family.family,
      seed: network.chain,
      tokens: contracts.map(family.nodeForm),
      decimals: network.tokens[0]?.decimals ?? 0,
      chainId: network.chainId ?? 0,
      startMs: Date.now() - head.firstHeight * network.blockTimeMs,
      blockTimeMs: network.blockTimeMs,
      ...traffic,
    },
    ...head,
  };
}

/** The configured network with canned nodes, without WebSocket. */
export function networkOn(
  network: NetworkConfig,
  { plan }: CannedNetwork,
  rpcUrls: readonly string[],
): NetworkConfig {
  const { wsUrl: _, ...polled } = network;
  const { genesisId } = createCannedChain(plan);
  return { ...polled, enabled: true, rpcUrls, ...(genesisId === '' ? {} : { genesisId }) };
}

export interface CannedNode {
  readonly urls: Readonly<Record<string, readonly string[]>>;
  takeCounts(): Promise<Readonly<Record<string, readonly SourceCount[]>>>;
  stop(): Promise<void>;
}

export async function startCannedNode(networks: readonly CannedNetwork[]): Promise<CannedNode> {
  const child = startChild('canned/node');
  const request: NodeRequest = { ask: 'serve', networks };
  const ports = await child.ask<Readonly<Record<string, readonly number[]>>>(request);
  const count: NodeRequest = { ask: 'count' };
  return {
    urls: Object.fromEntries(
      Object.entries(ports).map(([name, own]) => [name, own.map((port) => `http://127.0.0.1:${port}`)]),
    ),
    takeCounts: () => child.ask(count),
    stop: () => child.stop(),
  };
}
