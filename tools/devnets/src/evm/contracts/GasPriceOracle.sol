// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {L1Block} from "L1Block.sol";

/// Fees by the formulas of Fjord and Isthmus (ethereum-optimism/specs). It does not compress the data, so that its
/// estimates are somewhat above the charges of the node, which does.
contract GasPriceOracle {
    L1Block private constant PRICES = L1Block(0x4200000000000000000000000000000000000015);
    uint256 private constant SIGNATURE_BYTES = 68;
    uint256 private constant MIN_SIZE = 100e6;
    uint256 private constant COEFFICIENT = 836_500;
    uint256 private constant INTERCEPT = 42_585_600;

    /// @param unsignedTransaction serialised, with its type
    function getL1Fee(bytes calldata unsignedTransaction) external view returns (uint256) {
        uint256 scaled = COEFFICIENT * (unsignedTransaction.length + SIGNATURE_BYTES);
        uint256 size = scaled > INTERCEPT + MIN_SIZE ? scaled - INTERCEPT : MIN_SIZE;
        uint256 price = 16 * PRICES.basefee() * PRICES.baseFeeScalar() + PRICES.blobBaseFee() * PRICES.blobBaseFeeScalar();
        return size * price / 1e12;
    }

    function getOperatorFee(uint256 gasUsed) external view returns (uint256) {
        return gasUsed * PRICES.operatorFeeScalar() / 1e6 + PRICES.operatorFeeConstant();
    }
}
