import { createHash } from 'node:crypto';
import type { BlockHash } from '@opentill/chain/block';
import { pointFromScalar, signRecoverable } from 'tiny-secp256k1';
import { hexOf, tronAddressCodec } from '../src/address-codec.ts';
import { sealOf, type BlockSeal } from '../src/block-seal.ts';
import { blockIdOf, headerDigestOf } from '../src/protobuf/header.ts';
import type { TronCall } from '../src/tron-client.ts';

export interface Key {
  readonly secret: Uint8Array;
  readonly addressHex: string;
}

export function keyOf(name: string): Key {
  const secret = createHash('sha256').update(name).digest();
  return { secret, addressHex: hexOf(tronAddressCodec.fromPublicKey(pointFromScalar(secret, true)!)) };
}

export interface Produced {
  readonly witness: Key;
  /** @default witness */
  readonly signer?: Key;
  readonly header?: object;
}

export function chainOf(produced: readonly Produced[]) {
  let parentHash = '0'.repeat(64);
  const blocks = produced.map(({ witness, signer = witness, header = {} }, place) => {
    const number = place + 1;
    const data = {
      number,
      timestamp: number * 3_000,
      txTrieRoot: '0'.repeat(64),
      parentHash,
      witness_address: witness.addressHex,
      ...header,
    };
    const { signature, recoveryId } = signRecoverable(
      Buffer.from(headerDigestOf(data), 'hex'),
      signer.secret,
    );
    const blockID = blockIdOf(data, number);
    parentHash = blockID;
    const witness_signature = Buffer.from([...signature, recoveryId]).toString('hex');
    return { blockID, block_header: { raw_data: data, witness_signature } };
  });
  return blocks;
}

export type ChainBlocks = ReturnType<typeof chainOf>;

export function sealsOf(blocks: ChainBlocks): readonly BlockSeal[] {
  return blocks.map((block) => sealOf(block, block.block_header.raw_data.number));
}

export function blockAt(blocks: ChainBlocks, height: number): { height: number; hash: BlockHash } {
  return { height, hash: blocks[height - 1]!.blockID as BlockHash };
}

/** Up to `solid` on the solid side, without transactions. */
export function sourceOf(blocks: ChainBlocks, solid = blocks.length) {
  return {
    call({ side, method, body = {}, decode }: TronCall): Promise<unknown> {
      const height = Number(body['num'] ?? body['id_or_num']);
      const isThere = height <= (side === 'walletsolidity' ? solid : blocks.length);
      const answer = method === 'gettransactioninfobyblocknum' ? [] : isThere ? blocks[height - 1] : {};
      return Promise.resolve(decode === undefined ? answer : decode(answer));
    },
  };
}
