import {
  runTruthOf,
  type TruthFindings as Findings,
  type TruthPlan as Plan,
} from '@opentill/testkit/truth-run';
import { createLyingNode, type LyingNode } from './lying-nodes.ts';
import { createScannerWorld } from './scanner-world.ts';
import { createTruthChain, type TruthChain } from './truth-chain.ts';
import { createNaiveScanner } from './truth-naive.ts';

/** In an outage the first node tells the truth. */
export interface TruthPlan extends Plan {
  /** An address is paid that the scanner does not know: its deposits must be found missing. */
  readonly isControl?: boolean;
}

export interface TruthFindings extends Findings {
  readonly sent: TruthChain['sent'];
  /** Faults of each node. */
  readonly lies: readonly LyingNode['told'][];
}

export function runTruth(plan: TruthPlan): Promise<TruthFindings> {
  return runTruthOf(plan, async (_, onClose) => {
    const world = await createScannerWorld(plan.network && { network: plan.network });
    onClose(() => world.close());
    const { control, tokens } = world.devnet;
    const chain = createTruthChain(world.devnet, plan.seed);
    if (plan.isControl === true) chain.addAddress(`0x${'5e'.repeat(32)}`);
    const isAlone = plan.sources === 1;
    const nodes: LyingNode[] = [];
    for (let place = 0; place < plan.sources; place += 1) {
      const node = await control.openNode();
      nodes.push(
        createLyingNode(node, { seed: plan.seed, place, isAlone, coinTypes: Object.values(tokens) }),
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
      toldMaxMs: 1_500,
      extra: () => ({ sent: chain.sent, lies: nodes.map(({ told }) => told) }),
    };
  });
}
