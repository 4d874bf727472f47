// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Prices of the base chain, in the storage layout from which nodes of the OP Stack charge (ethereum-optimism/specs,
/// Isthmus). Anybody may set them here.
contract L1Block {
    uint64 public number;
    uint64 public timestamp;
    uint256 public basefee;
    bytes32 public hash;
    uint64 public sequenceNumber;
    uint32 public blobBaseFeeScalar;
    uint32 public baseFeeScalar;
    bytes32 public batcherHash;
    uint256 public l1FeeOverhead;
    uint256 public l1FeeScalar;
    uint256 public blobBaseFee;
    uint64 public operatorFeeConstant;
    uint32 public operatorFeeScalar;

    function setPrices(
        uint256 basefee_,
        uint32 baseFeeScalar_,
        uint256 blobBaseFee_,
        uint32 blobBaseFeeScalar_,
        uint64 operatorFeeConstant_,
        uint32 operatorFeeScalar_
    ) external {
        basefee = basefee_;
        baseFeeScalar = baseFeeScalar_;
        blobBaseFee = blobBaseFee_;
        blobBaseFeeScalar = blobBaseFeeScalar_;
        operatorFeeConstant = operatorFeeConstant_;
        operatorFeeScalar = operatorFeeScalar_;
    }
}
