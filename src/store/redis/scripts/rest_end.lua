return rest
end
