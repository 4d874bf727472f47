import { createCannedTronChain, type CannedTronBlock, type CannedTronPlan } from './canned-tron-chain.ts';
import { serveCanned, type CannedAnswers, type CannedDescription } from './serve-canned.ts';

/** A TRON network of a canned node; it gets a port for each source. Its head stays. */
export interface CannedTronNetwork extends CannedDescription {
  readonly decimals: number;
  readonly chain: CannedTronPlan;
  /** The head. All blocks are made before the node is ready. */
  readonly headHeight: number;
  /** The solid block is so many blocks below the head. */
  readonly solidLagBlocks: number;
}

interface Asked {
  readonly num?: number;
  readonly id_or_num?: string;
  readonly value?: string;
}

const text = (value: string): readonly Buffer[] => [Buffer.from(value, 'latin1')];
const [NO_BLOCK, NO_INFOS] = [text('{}'), text('[]')];

function createCannedTronNetwork(network: CannedTronNetwork): CannedAnswers {
  const { headHeight, solidLagBlocks } = network;
  const chain = createCannedTronChain(network.chain);
  const blocks: readonly CannedTronBlock[] = Array.from({ length: headHeight + 1 }, (_, height) =>
    chain.make(height),
  );
  const decimals = network.decimals.toString(16).padStart(64, '0');

  function answer(side: string, method: string, asked: Asked): readonly Buffer[] {
    const top = side === 'walletsolidity' ? headHeight - solidLagBlocks : headHeight;
    const at = (height: number): CannedTronBlock | undefined => (height <= top ? blocks[height] : undefined);
    const part = (height: number, kind: keyof CannedTronBlock, nothing: readonly Buffer[]) => {
      const block = at(height);
      return block === undefined ? nothing : [block[kind]];
    };
    switch (method) {
      case 'getblock':
        return part(asked.id_or_num === undefined ? top : Number(asked.id_or_num), 'header', NO_BLOCK);
      case 'getblockbynum':
        return part(asked.num ?? 0, 'block', NO_BLOCK);
      case 'gettransactioninfobyblocknum':
        return part(asked.num ?? 0, 'infos', NO_INFOS);
      case 'gettransactioninfobyid':
        return text(chain.info(asked.value ?? '') ?? '{}');
      case 'triggerconstantcontract':
        return text(`{"result":{"result":true},"energy_used":400,"constant_result":["${decimals}"]}`);
      default:
        throw new Error(`not canned: ${side}/${method}`);
    }
  }

  return {
    moveHead: () => undefined,
    head: () => headHeight,
    answer(path, body, count) {
      const [, side = '', method = ''] = path.split('/');
      count(method);
      return answer(side, method, (body === '' ? {} : JSON.parse(body)) as Asked);
    },
  };
}

serveCanned((network: CannedTronNetwork) => createCannedTronNetwork(network));
