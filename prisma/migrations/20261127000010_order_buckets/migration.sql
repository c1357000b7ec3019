-- Which of an authority's limits an order counts for, by the keys of "authority_budget": a refusal gives back, or takes more.
ALTER TABLE "certificate" ADD COLUMN "buckets" TEXT[] DEFAULT ARRAY[]::TEXT[];
