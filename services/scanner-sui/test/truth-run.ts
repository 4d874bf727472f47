import {
  runTruthOf,
  type TruthFindings as Findings,
  type TruthPlan as Plan,
} from '@opentill/testkit/truth-run';
import { createByzantineNode, type ByzantineNode } from './byzantine-nodes.ts';
import { createScannerWorld } from './scanner-world.ts';
import { createTruthChain, type TruthChain } from './truth-chain.ts';
import { createNaiveScanner } from './truth-naive.ts';

/** In an outage the first node is honest. */
export interface TruthPlan extends Plan {
  /** Pays an address that the scanner does not know; its deposits must be reported as missing. */
  readonly isControl?: boolean;
}

export interface TruthFindings extends Findings {
  readonly sent: TruthChain['sent'];
  readonly injectedFaults: readonly ByzantineNode['injected'][];
}

export function runTruth(plan: TruthPlan): Promise<TruthFindings> {
  return runTruthOf(plan, async (_, onClose) => {
    const world = await createScannerWorld(plan.network && { network: plan.network });
    onClose(() => world.close());
    const { control, tokens } = world.devnet;
    const chain = createTruthChain(world.devnet, plan.seed);
    if (plan.isControl === true) chain.addAddress(`0x${'5e'.repeat(32)}`);
    const isSingleSource = plan.sources === 1;
    const nodes: ByzantineNode[] = [];
    for (let place = 0; place < plan.sources; place += 1) {
      const node = await control.openNode();
      nodes.push(
        createByzantineNode(node, {
          seed: plan.seed,
          place,
          isSingleSource,
          coinTypes: Object.values(tokens),
        }),
      );
    }
    const [living, dying] = nodes;
    const head = (): number => control.summary().checkpoint;
    let isOut = false;
    return {
      world,
      chain,
      addresses: 20,
      newDepositAddress: () => world.newDepositAddress(),
      head,
      lagBlocksMax: 2,
      pauseMaxMs: 1_500,
      startScanner: () => world.startReplica({ rpcUrls: nodes.map(({ url }) => url) }),
      begun: ['verified', 1],
      openNaive: (height, isOurs) => createNaiveScanner({ url: living!.url, height, isOurs }),
      keyOf: ({ tx, position, amount }) => `${tx} ${position.replace(':', ' ')} ${amount}`,
      beforeBlock(issued) {
        if (!isOut) for (const node of nodes) node.next(head() + 1, issued);
      },
      outage: {
        begin() {
          isOut = true;
          dying!.kill();
          living!.clear();
        },
        revive: () => dying!.revive(),
        restore() {
          isOut = false;
        },
        verifiable: head,
      },
      finish() {
        for (const node of nodes) node.clear();
        control.checkpoint();
        return Promise.resolve(head());
      },
      detectedMaxMs: 1_500,
      extra: () => ({ sent: chain.sent, injectedFaults: nodes.map(({ injected }) => injected) }),
    };
  });
}
