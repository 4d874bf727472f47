import type { Chain } from './chain/chain.ts';
import { createFaults, type SuiFault } from './grpc/faults.ts';
import type { Node } from './grpc/node.ts';
import { serveNode, type RunControl } from './grpc/serve.ts';

/** Node of a chain. Several nodes of a chain have independent faults. */
export interface SuiNode {
  readonly url: string;
  fault(fault: SuiFault): void;
  clearFaults(): void;
  dropConnections(): void;
  prune(lowestCheckpoint: number): void;
  close(): Promise<void>;
}

/** Throws a system error (EADDRINUSE) if the port is taken. */
export async function openNode(
  chain: Chain,
  options: {
    readonly host: string;
    readonly port: number;
    readonly consensusMs: number;
    readonly runControl: (node: SuiNode) => RunControl;
  },
): Promise<SuiNode> {
  const faults = createFaults();
  const node: Node = { chain, faults, consensusMs: options.consensusMs, lowestCheckpoint: 0 };
  const control: { run: RunControl } = { run: async () => ({}) };
  const server = await serveNode({
    node,
    host: options.host,
    port: options.port,
    runControl: async (name, body) => control.run(name, body),
  });
  const opened: SuiNode = {
    url: server.url,
    fault: (fault) => faults.add(fault),
    clearFaults: () => faults.clear(),
    dropConnections: () => server.dropConnections(),
    prune(lowestCheckpoint) {
      node.lowestCheckpoint = lowestCheckpoint;
    },
    close: async () => server.close(),
  };
  control.run = options.runControl(opened);
  return opened;
}
